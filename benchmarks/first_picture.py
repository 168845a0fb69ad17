"""The first picture of a served training in Chromium, of ten thousand weights and of a million.

python -m benchmarks.first_picture
"""

import statistics


def main() -> None:
    from tests.faces.browser.test_served_in_browser import measured

    found = {name: statistics.median(seconds) for name, seconds in measured().items()}
    few, many = found.values()
    words = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in found.items())
    print(f"first picture, medians of three: {words}; {many / few:.1f} times")


if __name__ == "__main__":
    main()
