import type { Clock } from "../../clock/clock.ts"
import type { Random } from "../../clock/random.ts"
import type { Connect } from "./connect.ts"
import type { Files } from "./files.ts"
import type { Listen } from "./listen.ts"
import type { Programs } from "./programs.ts"
import type { ServeHttp } from "./serve-http.ts"
import type { TimeZone } from "./time-zone.ts"

/** Everything that one run of kubectl may use; it reads nothing from globals. */
export interface Environment {
  /** The name that the program was called by, for messages that quote the command line: `kubectl`. */
  readonly name: string
  /** What `kubectl version` says of this program. */
  readonly version: ClientVersion
  readonly variables: Readonly<Record<string, string | undefined>>
  readonly stdin: InputStream
  readonly stdout: OutputStream
  readonly stderr: OutputStream
  readonly files: Files
  /** The number of the process, for lines of the log. */
  readonly processId: number
  /** The folder that relative paths are relative to. */
  readonly cwd: string
  /** The user's folder; empty when there is none. */
  readonly home: string
  /** Kubeconfigs that are tried in this order where neither `--kubeconfig` nor `KUBECONFIG` names one. */
  readonly kubeconfigs: readonly string[]
  readonly clock: Clock
  /** The time zone in which times are written. */
  readonly zone: TimeZone
  readonly random: Random
  readonly programs: Programs
  /** Sends one request and gives the head of its answer. */
  readonly connect: Connect
  /** Opens ports, for `port-forward`; undefined where there are none. */
  readonly listen?: Listen
  /** Serves HTTP, for `proxy`; undefined where nothing can be served. */
  readonly serveHttp?: ServeHttp
  /**
   * Aborts at the user's Ctrl-C, with an `Interrupted` as its reason. A run that never asks for it is ended by Ctrl-C at
   * once, as a program without a handler is.
   */
  readonly interrupt: AbortSignal
  /** The same where something has asked for it before, so that Ctrl-C does not end the run; undefined otherwise. */
  readonly handledInterrupt: AbortSignal | undefined
}

/** The fields of apimachinery's version.Info, in its order. */
export interface ClientVersion {
  readonly major: string
  readonly minor: string
  readonly gitVersion: string
  readonly gitCommit: string
  readonly gitTreeState: string
  readonly buildDate: string
  readonly goVersion: string
  readonly compiler: string
  readonly platform: string
}

export interface InputStream extends AsyncIterable<Uint8Array> {
  readonly isTerminal: boolean
  /** Switches a terminal to raw mode, in which every key comes at once and is not echoed, and back. */
  setRaw(raw: boolean): void
}

/** The size of a terminal, in characters. */
export interface TerminalSize {
  readonly columns: number
  readonly rows: number
}

export interface OutputStream {
  readonly isTerminal: boolean
  /** Resolves when the reader has taken the text, or it is at least on its way. @throws BrokenPipe */
  write(text: string | Uint8Array): Promise<void>
  /** Undefined when it is not a terminal. */
  size(): TerminalSize | undefined
  /** Calls `changed` at each change of the terminal's size, until the returned function is called. */
  onResize(changed: () => void): () => void
}

/** The user has pressed Ctrl-C, or another signal asks the program to end. The run ends with code 1, without a message. */
export class Interrupted extends Error {
  override readonly name = "Interrupted"
  constructor(readonly signal: NodeJS.Signals = "SIGINT") {
    super(signal)
  }
}

/** The reader of an output has gone. The run ends at once, without a message. */
export class BrokenPipe extends Error {
  override readonly name = "BrokenPipe"
}
