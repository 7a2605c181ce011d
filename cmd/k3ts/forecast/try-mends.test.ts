import { expect, test } from "bun:test"
import { triedQuestion } from "./try-mends.ts"

test("a question whose mends are tried is told apart from the way to the cluster and the form of the answer", () => {
  // given
  const argv = ["-nteam", "pod/web", "--from", "pod/a", "--port=80", "--context", "x", "--as=me", "-o", "json"]
  // when
  const question = triedQuestion(argv)
  // then
  expect(question).toEqual({
    words: ["pod/web"],
    isJson: true,
    asked: ["--from", "pod/a", "--port=80"],
    reaching: ["--context", "x", "--as=me"],
    all: ["-nteam", "pod/web", "--from", "pod/a", "--port=80", "--context", "x", "--as=me"],
  })
})

test("a flag without a value does not take the name of the object for it", () => {
  expect(triedQuestion(["--insecure-skip-tls-verify", "deployment", "web"])).toMatchObject({
    words: ["deployment", "web"],
    reaching: ["--insecure-skip-tls-verify"],
  })
})

test("mends of the whole cluster are not tried, and the message names the way", () => {
  expect(() => triedQuestion(["-n", "team"])).toThrow("k3ts why --try KIND/NAME")
})
