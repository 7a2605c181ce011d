/** A command for a shell. What users wrote in it, in whatever way, is nothing but words of it. */
export class Command {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  toString(): string {
    return this.text
  }
}

/**
 * Returns a command: command`kubectl delete pod ${name} -n ${namespace}`. Texts are quoted where a shell would not take
 * them as they are: the name in a reference, an image or a line of a log is anything that some user wrote. Each text of
 * a list is a word of its own, and a command stays as it is.
 */
export function command(
  parts: TemplateStringsArray,
  ...values: readonly (string | number | readonly string[] | Command)[]
): Command {
  const written = values.map((value) =>
    value instanceof Command
      ? value.text
      : typeof value === "object"
        ? value.map(quoted).join(" ")
        : quoted(String(value)),
  )
  return new Command(String.raw({ raw: parts }, ...written))
}

/** Characters that no shell gives a meaning, wherever in a word they stand. */
const PLAIN = /^[\w@%+:,./-][\w@%+:,./=-]*$/

const quoted = (text: string): string => (text === "" || PLAIN.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)
