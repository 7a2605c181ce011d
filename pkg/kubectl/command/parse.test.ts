import { describe, expect, test } from "bun:test"
import { boolFlag, durationFlag, intFlag, stringArrayFlag, stringFlag, stringSliceFlag } from "./flag.ts"
import { parseFlags } from "./parse.ts"

const flags = {
  output: stringFlag("", "", { shorthand: "o" }),
  watch: boolFlag(false, "", { shorthand: "w" }),
  all: boolFlag(false, "", { shorthand: "A" }),
  replicas: intFlag(1, ""),
  timeout: durationFlag(0, ""),
  filename: stringSliceFlag([], "", { shorthand: "f" }),
  env: stringArrayFlag([], ""),
  "dry-run": stringFlag("none", "", { noOptionDefault: "unchanged" }),
}

describe("parseFlags", () => {
  test.each<{ argv: string[]; values: Record<string, unknown>; args?: string[] }>([
    { argv: ["pods", "-o", "wide"], values: { output: "wide" }, args: ["pods"] },
    { argv: ["-owide"], values: { output: "wide" } },
    { argv: ["-o=wide"], values: { output: "wide" } },
    { argv: ["-wA", "pods"], values: { watch: true, all: true }, args: ["pods"] },
    { argv: ["--watch=false"], values: { watch: false } },
    { argv: ["--dry-run", "x"], values: { "dry-run": "unchanged" }, args: ["x"] },
    { argv: ["--dry_run=client"], values: { "dry-run": "client" } },
    { argv: ["-f", "a,b", "-f", 'c,"d,e"'], values: { filename: ["a", "b", "c", "d,e"] } },
    { argv: ["--env=a,b", "--env", "c"], values: { env: ["a,b", "c"] } },
    { argv: ["--timeout=1m30s"], values: { timeout: 90_000 } },
    { argv: ["x", "--", "-w", "y"], values: { watch: false }, args: ["x", "-w", "y"] },
    { argv: ["-"], values: {}, args: ["-"] },
  ])("reads $argv", ({ argv, values, args = [] }) => {
    const parsed = parseFlags(argv, flags)
    expect(parsed.values).toMatchObject(values)
    expect(parsed.args).toEqual(args)
  })

  test.each([
    { argv: ["-h"], help: true },
    { argv: ["-wh", "pods"], help: true },
    { argv: ["--help", "-w"], help: true },
    { argv: ["--help=false"], help: false },
    { argv: ["-h=false"], help: false },
    { argv: ["--", "--help"], help: false },
  ])("sees in $argv whether help is asked for", ({ argv, help }) => {
    expect(parseFlags(argv, flags).help).toBe(help)
  })

  test.each<{ argv: string[]; message: string }>([
    { argv: ["--help", "--foo"], message: "unknown flag: --foo" },
    {
      argv: ["--help=x"],
      message: `invalid argument "x" for "-h, --help" flag: strconv.ParseBool: parsing "x": invalid syntax`,
    },
    { argv: ["--foo"], message: "unknown flag: --foo" },
    { argv: ["-wz"], message: "unknown shorthand flag: 'z' in -z" },
    { argv: ["--output"], message: "flag needs an argument: --output" },
    { argv: ["-wo"], message: "flag needs an argument: 'o' in -o" },
    { argv: ["--=x"], message: "bad flag syntax: --=x" },
    {
      argv: ["--watch=maybe"],
      message: 'invalid argument "maybe" for "-w, --watch" flag: strconv.ParseBool: parsing "maybe": invalid syntax',
    },
    {
      argv: ["--replicas=x"],
      message: 'invalid argument "x" for "--replicas" flag: strconv.ParseInt: parsing "x": invalid syntax',
    },
  ])("refuses $argv in pflag's words", ({ argv, message }) => {
    expect(() => parseFlags(argv, flags)).toThrow(message)
  })

  test("remembers how many arguments stand before the dashes", () => {
    expect(parseFlags(["pod", "--", "ls"], flags).argsBeforeDash).toBe(1)
  })

  test("passes on all arguments after the first one where flags may not stand between arguments", () => {
    expect(parseFlags(["-w", "pod", "-o", "x"], flags, { interspersed: false })).toMatchObject({
      values: { watch: true, output: "" },
      args: ["pod", "-o", "x"],
    })
  })
})
