export interface ProgramOptions {
  readonly command: string
  readonly args: readonly string[]
  /** The variables of the program; undefined: those of this run. */
  readonly variables?: Readonly<Record<string, string | undefined>>
  /** The folder that the program begins in; undefined: that of this run. */
  readonly cwd?: string
  /** After this many milliseconds the program is ended. */
  readonly timeoutMs?: number
  /** What the program reads; `inherit` is the terminal or the input of this run. */
  readonly stdin?: "inherit" | "ignore" | string
  /** Where its outputs go: to those of this run, or they are returned. */
  readonly output?: "inherit" | "collect"
  /** Where its errors go; undefined: like the output. */
  readonly errors?: "inherit" | "collect"
}

export interface ProgramResult {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
  /** Set where it was ended because of its time. */
  readonly timedOut?: boolean
}

/** Other programs: editor, diff, exec credential plugins, kubectl's plugins. */
export interface Programs {
  /** Runs a program to its end. @throws an error with code ENOENT when there is none */
  run(options: ProgramOptions): Promise<ProgramResult>
  /** The path of a program: itself if it has a slash, else that in the folders of PATH; undefined when there is none. */
  find(name: string): Promise<string | undefined>
}
