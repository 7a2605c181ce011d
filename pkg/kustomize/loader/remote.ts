/** What a build may do beyond its files. All of it is optional: a build in a test reaches nothing. */
export interface RemoteAccess {
  /** Returns the body of a URL. @throws Error in Go's words when there is no response */
  fetch?(url: string): Promise<{ readonly status: number; readonly statusText: string; readonly body: Uint8Array }>
  readonly git?: GitProgram
  readonly helm?: HelmProgram
}

/** The program `git`, and a place for what it clones. */
export interface GitProgram {
  /** Returns the absolute path of the program; undefined when there is none. */
  find(): Promise<string | undefined>
  /** Makes an empty folder. Returns its path without symbolic links. */
  makeFolder(): Promise<string>
  /** Removes a folder with all that is in it. */
  removeFolder(path: string): Promise<void>
  /** Runs the program. `failure` says how it failed, as Go does: `exit status 128`. `timeout` is in seconds. */
  run(
    path: string,
    args: readonly string[],
    options: { readonly folder: string; readonly timeout: number },
  ): Promise<{ readonly output: string; readonly failure: string | undefined; readonly timedOut: boolean }>
}

/** The program `helm`, and a place for what it reads and writes. */
export interface HelmProgram {
  /** Makes an empty folder. */
  makeFolder(): Promise<string>
  removeFolder(path: string): Promise<void>
  write(path: string, content: Uint8Array | string): Promise<void>
  /** Runs the program with more variables. `failure` says how it failed, as Go does: `exit status 1`. */
  run(
    command: string,
    args: readonly string[],
    variables: Readonly<Record<string, string>>,
  ): Promise<{ readonly stdout: string; readonly stderr: string; readonly failure: string | undefined }>
}
