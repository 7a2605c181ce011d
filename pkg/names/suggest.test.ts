import { expect, test } from "bun:test"
import { nearest } from "./suggest.ts"

const known = ["server", "version", "check-config", "images", "token", "kubeconfig", "killall"]
test.each<[string, string | undefined]>([
  ["serve", "server"],
  ["sevrer", "server"],
  ["servers", "server"],
  ["imgaes", "images"],
  ["config", undefined],
  ["kube", "kubeconfig"],
  ["check", "check-config"],
  ["x", undefined],
  ["destroy", undefined],
])("the suggestion for %j is %j", (wrong, expected) => expect(nearest(wrong, known)).toBe(expected))

test("the first of several that are as similar is meant", () =>
  expect(nearest("imags", ["images", "image", "imago"])).toBe("images"))

test("no time is spent on names that nobody types", () => {
  // given a name of an image that somebody has made as long as a server takes, and many like it
  const long = "a".repeat(200_000)
  const others = Array.from({ length: 50 }, (_, index) => `${"a".repeat(199_000)}${index}`)
  // when it is compared, which would take a billion steps each, then it is like none
  expect(nearest(long, others)).toBeUndefined()
  expect(nearest("nginx", others)).toBeUndefined()
})
