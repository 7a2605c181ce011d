/**
 * Puts the flags of a command before a `--`, and the command line of kubectl that stands among them behind it. They may
 * stand before and behind its words, up to a `--` of its own. All of them take a value; `-o` is one of them.
 */
export function ownFirst(argv: readonly string[], names: readonly string[]): readonly string[] {
  const [own, rest]: [string[], string[]] = [[], []]
  for (let i = 0; i < argv.length; i++) {
    const arg = argv[i]!
    if (arg === "--" && rest.length > 0) return [...own, "--", ...rest, ...argv.slice(i)]
    const name = arg.split("=", 1)[0]!
    if (name === "-o" || (name.startsWith("--") && names.includes(name.slice(2)))) {
      own.push(arg)
      if (!arg.includes("=") && i + 1 < argv.length) own.push(argv[++i]!)
    } else if (rest.length === 0 && (arg === "-h" || arg === "--help")) own.push(arg)
    else if (arg !== "--") rest.push(arg)
  }
  return [...own, "--", ...rest]
}
