/** Returns the name of a header as Go has it: `Content-Type`. */
export const canonicalHeader = (name: string): string =>
  name.replaceAll(/(^|-)([a-z])/g, (_, dash: string, letter: string) => dash + letter.toUpperCase())
