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
