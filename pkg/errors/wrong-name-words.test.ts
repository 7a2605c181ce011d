import { expect, test } from "bun:test"
import { wrongNameWords } from "./wrong-name-words.ts"

const MANY = Array.from({ length: 100 }, (_, i) => `DNS:n${i}`).join(", ")

test.each([
  [
    "en.eco.svc",
    "DNS:localhost, DNS:a.svc, IP Address:127.0.0.1",
    "certificate is valid for localhost, a.svc, not en.eco.svc",
  ],
  ["en.eco.svc", "IP Address:127.0.0.1", "certificate is not valid for any names, but wanted to match en.eco.svc"],
  ["en.eco.svc", undefined, "certificate is not valid for any names, but wanted to match en.eco.svc"],
  ["10.0.0.1", "DNS:localhost, IP Address:127.0.0.1", "certificate is valid for 127.0.0.1, not 10.0.0.1"],
  ["::1", "DNS:localhost", "cannot validate certificate for ::1 because it doesn't contain any IP SANs"],
  ["b.svc", MANY, "certificate is valid for 100 names, but none matched b.svc"],
])("a certificate that is not for %s says so as Go does", (host, subjectaltname, words) => {
  // given an error as Node makes it, which names the host, or not
  const cert = subjectaltname === undefined ? {} : { subjectaltname }
  // then
  expect(wrongNameWords(Object.assign(new Error("x"), { host: `${host}.`, cert }), "other")).toBe(words)
  expect(wrongNameWords(Object.assign(new Error("x"), { cert }), host)).toBe(words)
})
