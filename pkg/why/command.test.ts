import { describe, expect, test } from "bun:test"
import { command } from "./command.ts"

describe("a command", () => {
  test.each([
    ["web", "web"],
    ["hub.corp:5000/app@sha256:1f", "hub.corp:5000/app@sha256:1f"],
    ['{"spec":{"replicas":1}}', `'{"spec":{"replicas":1}}'`],
    ["it's", `'it'\\''s'`],
    ["$(id)", "'$(id)'"],
    ["a;b", "'a;b'"],
    ["~", "'~'"],
  ])("quotes %j where a shell needs it", (text, expected) => {
    expect(String(command`run ${text}`)).toBe(`run ${expected}`)
  })

  test("has a word for each text of a list, and other commands as they are", () => {
    const first = command`get ${["a", "b c"]}`
    expect(String(command`${first} && ${command`get -n ${"x y"}`}${[]} --tail=${2}`)).toBe(
      "get a 'b c' && get -n 'x y' --tail=2",
    )
  })

  test("is read by a shell as the texts in it", () => {
    // given every character that a shell gives a meaning
    const hostile = [
      "$(exit 3)",
      "`exit 3`",
      "a'b\"c",
      "\\",
      "* ?",
      "a\nb",
      "#x",
      "!x",
      "x && exit 3",
      "{a,b}",
      "~root",
    ]

    // when a shell runs a command with them
    const { stdout, exitCode } = Bun.spawnSync(["sh", "-c", `printf '<%s>' ${command`${hostile}`}`])

    // then each is one word
    expect(exitCode).toBe(0)
    expect(stdout.toString()).toBe(hostile.map((text) => `<${text}>`).join(""))
  })
})
