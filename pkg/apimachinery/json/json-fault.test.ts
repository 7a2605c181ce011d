import { expect, test } from "bun:test"
import { jsonFault } from "./json-fault.ts"

test.each<[text: string, fault: string]>([
  ["", "unexpected end of JSON input"],
  ['{"a": [1, 2', "unexpected end of JSON input"],
  ['"abc', "unexpected end of JSON input"],
  ["hi", "invalid character 'h' looking for beginning of value"],
  ["{'a': 1}", "invalid character '\\'' looking for beginning of object key string"],
  ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
  ['{"a" 1}', "invalid character '1' after object key"],
  ['{"a":1 "b":2}', "invalid character '\"' after object key:value pair"],
  ["[1 2]", "invalid character '2' after array element"],
  ["[1,]", "invalid character ']' looking for beginning of value"],
  ["{} {}", "invalid character '{' after top-level value"],
  ['"a\nb"', "invalid character '\\n' in string literal"],
  ['"a\u0001b"', "invalid character '\\x01' in string literal"],
  ['"\\x"', "invalid character 'x' in string escape code"],
  ['"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"],
  ["-a", "invalid character 'a' in numeric literal"],
  ["1.", "unexpected end of JSON input"],
  ["1.x", "invalid character 'x' after decimal point in numeric literal"],
  ["1ex", "invalid character 'x' in exponent of numeric literal"],
  ["01", "invalid character '1' after top-level value"],
  ["[".repeat(1_000_000), "invalid character '[' exceeded max depth"],
  ["trie", "invalid character 'i' in literal true (expecting 'u')"],
])("invalid JSON is refused with Go's message: %#", (text, fault) => {
  expect(() => JSON.parse(text) as unknown).toThrow()
  expect(jsonFault(text)).toBe(fault)
})
