import { expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { join } from "node:path"

/** Prints, before, in and after raw mode, what the terminal does by itself. */
const PROGRAM = `
  const { hostInput } = await import(${JSON.stringify(join(import.meta.dirname, "host-streams.ts"))})
  const { spawnSync } = await import("node:child_process")
  const show = () => {
    const { stdout } = spawnSync("stty", ["-a"], { stdio: ["inherit", "pipe", "inherit"] })
    console.log(stdout.toString().match(/-?\\b(?:opost|isig|icanon|echo)\\b/g).join(" "))
  }
  const input = hostInput(() => process.stdin)
  for (const raw of [undefined, true, false]) {
    if (raw !== undefined) input.setRaw(raw)
    show()
  }
  process.exit(0)
`

test("a terminal in raw mode does nothing by itself, not even for line ends of the output, and is as before after it", () => {
  const { stdout } = spawnSync("script", ["-qec", `"${process.execPath}" -e "$PROGRAM"`, "/dev/null"], {
    encoding: "utf8",
    env: { ...process.env, PROGRAM },
    input: "",
  })
  expect(
    stdout
      .replaceAll("\r", "")
      .split("\n")
      .filter((line) => line.includes("echo")),
  ).toEqual(["opost isig icanon echo", "-opost -isig -icanon -echo", "opost isig icanon echo"])
})
