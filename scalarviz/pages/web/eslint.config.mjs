import js from "@eslint/js";

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
    files: ["scalarviz/pages/web/story/*.js"], // made of Python by ../translator.py
    rules: {
      "no-duplicate-imports": "off",
      "no-shadow": "off",
      "no-unused-vars": "off",
      "prefer-const": "off",
    },
  },
];
