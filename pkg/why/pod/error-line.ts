/** How the runtimes of languages begin the line with the error that ended a program. */
const ERRORS: readonly RegExp[] = [
  // JavaScript and Python: `TypeError: x is not a function`, `psycopg2.OperationalError: …`
  /^(?:Uncaught )?[\w.$]*(?:Error|Exception)(?: \[\w+\])?: ./,
  // Java
  /^Exception in thread "[^"]*" ./,
  /^Caused by: ./,
  // Go
  /^(?:panic|fatal error): ./,
  // Rust, before 1.73; later versions have the words in the next line
  /^thread '[^']*' panicked at '/,
  // Ruby
  /^\S+:\d+:in .* \([A-Z][\w:]*\)$/,
  // .NET
  /^Unhandled [Ee]xception[.:] ./,
  // PHP
  /^(?:PHP )?(?:Fatal|Parse) error: ./,
  // Elixir
  /^\s*\*\* \((?!EXIT\b)[A-Z][\w.]*\) ./,
]

/** A line of a log that calls itself an error. */
const LEVELS =
  /\b(?:ERROR|FATAL|CRITICAL|EMERG|SEVERE)\b|\[(?:error|fatal|crit|emerg)\]|^(?:error|fatal)[: ]|\blevel=(?:error|fatal|panic)|"level":\s*"(?:error|fatal|panic)"/

/** What is printed around an error and does not tell it: places in the source, versions, where to read more. */
const AROUND: readonly RegExp[] = [
  /^\s/,
  /^[\])}^]+[;,]?$/,
  /^goroutine \d+ \[/,
  /^created by \S+/,
  /^\[signal /,
  // A frame of Go: `main.(*Server).Run(0xc000010000)`
  /^(?=.*\)$)[\w./*()[\]{}·-]+\(/,
  /^(?:exit status \d+|Node\.js v[\d.]+|Stack trace:|File name: .*|#\d+ .*|Usage\b.*|BEGIN failed.*)$/,
  /^note: (?:run with|Some details)/,
  /^npm (?:ERR!|error)(?:\s*$|\s+\S+\s*$|\s+(?:A complete log|code|path|command|errno|syscall|Lifecycle|\/))/,
  /This is related to npm|check the logs at/,
]

/** What a program says about its end, of which it may have told the reason before. */
const ENDING = /\b(?:exiting|exited|shutting down|terminating)\b/i

/**
 * Returns the line of a log that tells the error which ended the program; the last line where none is known to. After
 * it come only lines that are printed around an error, such as a stack, and lines that call themselves errors. `lines`
 * are the end of a log without its empty lines.
 */
export function errorLine(lines: readonly string[]): string | undefined {
  const failure = springFailure(lines)
  if (failure !== undefined) return failure
  let level: string | undefined
  let ending: string | undefined
  for (const line of lines.toReversed()) {
    if (ERRORS.some((error) => error.test(line))) return line
    if (AROUND.some((around) => around.test(line))) continue
    if (ENDING.test(line)) ending ??= line
    else if (LEVELS.test(line)) level ??= line
    else return level ?? ending ?? line
  }
  return level ?? ending ?? lines.at(-1)
}

/** Spring Boot explains at length why an application did not start, and begins with the reason. */
function springFailure(lines: readonly string[]): string | undefined {
  const at = lines.findLastIndex((line) => line.trim() === "APPLICATION FAILED TO START")
  if (at < 0) return undefined
  const description = lines.indexOf("Description:", at)
  return description < 0 ? undefined : lines[description + 1]
}
