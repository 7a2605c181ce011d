/** Returns the lines of a server's log that call for an administrator: those of level ERROR. */
export const errorsIn = (log: string): readonly string[] =>
  log.split("\n").filter((line) => /^\d{4}-\d\d-\d\dT[\d:.]+Z ERROR /.test(line))
