import { expect, test } from "bun:test"
import { ownFirst } from "./own-flags.ts"

test.each([
  ["drain n --for 1h", "--for 1h -- drain n"],
  ["--for=1h -o json -- drain n", "--for=1h -o json -- drain n"],
  ["delete pod a --force -o json", "-o json -- delete pod a --force"],
  ["-h", "-h --"],
  ["run a --image=b --for 1h -- sh -o pipefail --for 2h", "--for 1h -- run a --image=b -- sh -o pipefail --for 2h"],
])("of %j the flags of what-if go before the change: %j", (given, wanted) => {
  expect(ownFirst(given.split(" "), ["for", "output"])).toEqual(wanted.split(" "))
})
