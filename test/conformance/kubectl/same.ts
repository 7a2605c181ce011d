/** Patterns for text that differs from run to run and from server to server, and their replacements. */
const REPLACED: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "UID"],
  [/20\d\d-\d\d-\d\dT[\d:.]+Z?/g, "TIME"],
  [/20\d\d-\d\d-\d\d [\d:.]+ \+0000( UTC)?/g, "TIME"],
  [/(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d+ \w+ \d{4} [\d:]+ \+0000/g, "TIME"],
  [/\u001B\[[\d;]*m/g, ""],
  [/127\.0\.0\.1:\d+|(192\.0\.2\.2|10\.\d+\.\d+\.\d+):\d{4,}/g, "HOST"],
  [/10\.99\.\d+\.\d+/g, "IP"],
  [/(resourceVersion\\?"?: ?\\?"?)\d+/g, "$1N"],
  [/\b\d+(s|m|h|m\d+s|h\d+m|d)(?=\s|$|\))/gm, "AGE"],
  [/eyJ[\w.-]+/g, "TOKEN"],
  [/kube-api-access-\w{5}/g, "kube-api-access"],
  [/debugger-(kc-node-)?\w{5}\b/g, "debugger"],
  [/(nodePort: |\/|:|<unset> +)3\d{4}\b/g, "$1PORT"],
  [/tmp\/[\w./-]+/g, "TMP"],
  [/(LIVE|MERGED)-\d+/g, "$1"],
  [/^[EW]\d{4} [\d:.]+ +\d+ /gm, "LOG "],
  // If kubectl itself panics, as in `auth reconcile`, only the panic is compared.
  [/^\[signal [^]*/gm, ""],
  // Widths of columns follow from ages and names.
  [/[ \t]+/g, " "],
  [/-{3,}/g, "---"],
]

/** The lines of `explain` that show fields and types. Its descriptions differ from server to server. */
const SCHEMA_LINE = /^ *(GROUP:|KIND:|VERSION:|FIELDS?:|ENUM:|error|Error|[\w$.]+ <[^>]*>)/

/** The text that is compared: without times, ids and ports, and of `explain` the fields and types. */
export function inOwnWords(command: string, text: string): string {
  const plain = REPLACED.reduce((rest, [pattern, by]) => rest.replace(pattern, by), text)
  // kubectl before 1.34 prints data in random order.
  if (command.startsWith("kubectl -n kc describe cm")) return plain.split("\n").sort().join("\n")
  if (!command.startsWith("kubectl explain")) return plain
  return plain
    .split("\n")
    .filter((line) => SCHEMA_LINE.test(line))
    .join("\n")
}
