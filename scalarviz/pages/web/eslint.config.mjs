import js from "@eslint/js";

const STYLE = "no-duplicate-imports no-shadow no-unused-vars no-useless-assignment object-shorthand prefer-const".split(" "); // prettier-ignore

export default [
  { ignores: ["build/", "docs/", ".venv/"] },
  js.configs.recommended,
  {
    rules: {
      "array-callback-return": "error",
      eqeqeq: "error",
      "no-duplicate-imports": "error",
      "no-shadow": "error",
      "no-undef": "off", // tsc knows the names that browsers and Node have
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": ["error", { destructuring: "all" }],
    },
  },
  {
    // Made of Python by ../translator.py: ruff has checked its style. What is left here are faults.
    files: ["scalarviz/pages/web/story/*.js"],
    rules: Object.fromEntries(STYLE.map((name) => [name, "off"])),
  },
];
