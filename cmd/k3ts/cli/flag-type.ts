/** What was written for a flag: a text, the items of a list, or undefined where it is not given. */
export type Written = string | readonly string[] | undefined

/** The value that was read, or what the text must be instead; `item` is the wrong item of a list. */
export type Read<T> = { readonly value: T } | { readonly fault: string; readonly item?: string }

/**
 * The type of a flag's values: reads them from text. Our own and not zod's, because a server has over a hundred flags:
 * as zod's schemas they took a tenth of the processor time of a start, and 3 MB.
 */
export class FlagType<T> {
  readonly read: (written: Written) => Read<T>
  /** The value of a flag that is not given, where it is always the same. */
  readonly initial: T | undefined

  constructor(read: (written: Written) => Read<T>, initial?: T) {
    this.read = read
    this.initial = initial
  }

  /** Returns the type of flags that need not be given. */
  optional(): FlagType<T | undefined> {
    return new FlagType<T | undefined>((written) => (written === undefined ? { value: undefined } : this.read(written)))
  }

  /** Returns the type of flags with the value `initial` where they are not given. */
  default(initial: T): FlagType<T> {
    return new FlagType((written) => (written === undefined ? { value: initial } : this.read(written)), initial)
  }

  /** Returns the type of flags that are read from `text` where they are not given. */
  prefault(text: string): FlagType<T> {
    return new FlagType((written) => this.read(written ?? text))
  }

  /** Returns the type of the values for which `holds` is true. */
  refine(holds: (value: T) => boolean, fault: string): FlagType<T> {
    return new FlagType((written) => {
      const read = this.read(written)
      return "fault" in read || holds(read.value) ? read : { fault }
    })
  }
}

/** What is wrong: the same for each text, or made of it. */
export type Fault = string | ((text: string) => string)

/** Makes a type of a function that reads the text. */
export const readingAs = <T>(read: (text: string) => Read<T>): FlagType<T> =>
  new FlagType((written) => (typeof written === "string" ? read(written) : { fault: "must be a text" }))

/** Makes a type of a function that reads the text; undefined means that it is wrong. */
export const reading = <T>(read: (text: string) => T | undefined, fault: Fault): FlagType<T> =>
  readingAs((text) => {
    const value = read(text)
    return value === undefined ? { fault: typeof fault === "string" ? fault : fault(text) } : { value }
  })

/** Makes the type of the texts for which `holds` is true. */
export const textThat = (holds: (text: string) => boolean, fault: Fault): FlagType<string> =>
  reading((text) => (holds(text) ? text : undefined), fault)

export const anyText = textThat(() => true, "")
export const notEmpty = textThat((text) => text !== "", "must not be empty")

/** Makes the type of a few words. */
export const word = <const W extends string>(
  words: readonly W[],
  fault: Fault = `must be ${words.join(" or ")}`,
): FlagType<W> => reading((text) => words.find((one) => one === text), fault)

/** Makes the type of lists, of which `item` reads each item. */
export const listOf = <T>(item: FlagType<T>): FlagType<readonly T[]> =>
  new FlagType((written) => {
    const values: T[] = []
    for (const text of written ?? []) {
      const read = item.read(text)
      if ("fault" in read) return { fault: read.fault, item: text }
      values.push(read.value)
    }
    return { value: values }
  })
