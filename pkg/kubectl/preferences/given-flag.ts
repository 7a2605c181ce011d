/**
 * Whether a command line seems to set a flag, as upstream looks for it: before the flags are read. Source: kubectl
 * pkg/kuberc/kuberc.go (searchInArgs).
 */
export const isGiven = (
  name: string,
  shorthand: string | undefined,
  shorthands: ReadonlySet<string>,
  argv: readonly string[],
): boolean =>
  argv.some(
    (arg) =>
      arg === `--${name}` ||
      arg.startsWith(`--${name}=`) ||
      (shorthand !== undefined &&
        (arg.startsWith(`-${shorthand}`) ||
          (/^-[a-zA-Z]+$/.test(arg) && shorthands.has(shorthand) && arg.slice(1).includes(shorthand)))),
  )
