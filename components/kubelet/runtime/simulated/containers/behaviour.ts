/**
 * How a simulated image behaves. Times are milliseconds of the cluster's clock; whatever is left out is as in
 * `images.ts`'s defaults.
 */
export interface ImageBehaviour {
  /** How long a pull takes; 0 unless given. */
  readonly pullMs?: number
  /** Why every pull fails, in the registry's words. */
  readonly pullError?: string
  /** Shown in the Node's status; 5,000,000 unless given. */
  readonly sizeBytes?: number
  /** User id the image asks for; 0 unless given. */
  readonly uid?: number
  /** How long its container takes to start. */
  readonly startMs?: number
  /** Why every start fails, in the runtime's words. */
  readonly startError?: string
  /** It ends by itself after this long, with `exitCode`; without it, it runs until it is stopped. */
  readonly runsMs?: number
  /** 0 unless given. */
  readonly exitCode?: number
  /** Its last words, written to terminationMessagePath when it ends by itself. */
  readonly terminationMessage?: string
  /** Lines it writes to stdout when it starts. */
  readonly logs?: readonly string[]
  /** Bytes of memory it uses while it runs. Above its limit it is killed: OOMKilled, exit code 137. */
  readonly memoryBytes?: number
  /**
   * How many cores it uses at the moment when it is asked, such as 0.25; 0 unless given. What it throws, and what is no
   * such number, is an error of the test.
   */
  readonly cpu?: (container: ContainerHandle) => number
  /** How it takes its stop signal: `exit` at once (the default), `ignore`, or so many milliseconds later. */
  readonly onStop?: "exit" | "ignore" | { readonly afterMs: number; readonly exitCode?: number }
  /** Until then its ports refuse connections. */
  readonly listensAfterMs?: number
  /** Answers requests to its ports; 200 `ok` unless given. A thrown error is a closed connection. */
  readonly http?: (request: Request, container: ContainerHandle) => Response | Promise<Response>
  /** What grpc.health.v1 says; SERVING unless given. */
  readonly grpc?: (
    service: string,
    container: ContainerHandle,
  ) => "UNKNOWN" | "SERVING" | "NOT_SERVING" | "SERVICE_UNKNOWN"
  /**
   * Answers `kubectl exec`, exec probes and hooks. A number is an exit code, a text is stdout. The words of a small
   * shell unless given.
   */
  readonly exec?: (command: readonly string[], container: ContainerHandle) => ExecAnswer | Promise<ExecAnswer>
  /**
   * The program itself, instead of `runsMs`: its result is the exit code. `container.stopping` aborts with the stop
   * signal.
   */
  readonly run?: (container: ContainerHandle) => Promise<number | void>
}

export type ExecAnswer =
  | number
  | string
  | { readonly exitCode?: number; readonly stdout?: string; readonly stderr?: string }

/** A running container, as its behaviour sees it. */
export interface ContainerHandle {
  readonly pod: { readonly namespace: string; readonly name: string; readonly uid: string; readonly ip: string }
  readonly name: string
  readonly node: string
  readonly image: string
  /** How often it was restarted. */
  readonly attempt: number
  readonly command: readonly string[]
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  /** Aborts when the container is told to stop. */
  readonly stopping: AbortSignal
  now(): number
  /** Resolves after `ms`, or at once when the container has ended. */
  sleep(ms: number): Promise<void>
  /** Writes a line to its log. */
  log(line: string, stream?: "stdout" | "stderr"): void
  /** The text of a file in it, of its volumes for one. */
  read(path: string): Promise<string | undefined>
  /** Sets how much memory it uses from now on. */
  useMemory(bytes: number): void
  /** Ends it now. */
  exit(code: number): void
}

/** Behaviours by image. A name without tag stands for all its tags; `*` at its end for all that begins so. */
export class ImageBehaviours {
  readonly #exact = new Map<string, ImageBehaviour>()
  readonly #prefixes: [prefix: string, behaviour: ImageBehaviour][] = []

  /** Told of functions among the behaviours that fail where nobody else can be told. */
  readonly failed: (failure: Error) => void

  constructor(images: Readonly<Record<string, ImageBehaviour>> = {}, failed: (failure: Error) => void = () => {}) {
    this.failed = failed
    for (const [image, behaviour] of Object.entries(images)) this.set(image, behaviour)
  }

  set(image: string, behaviour: ImageBehaviour): void {
    if (image.endsWith("*")) this.#prefixes.unshift([familiar(image.slice(0, -1)), behaviour])
    else this.#exact.set(familiar(image), behaviour)
  }

  of(image: string): ImageBehaviour {
    const name = familiar(image)
    return (
      this.#exact.get(name) ??
      this.#exact.get(withoutTag(name)) ??
      this.#prefixes.find(([prefix]) => name.startsWith(prefix))?.[1] ??
      {}
    )
  }
}

/** `docker.io/library/nginx:1` is what users call `nginx:1`. */
export const familiar = (image: string): string =>
  image
    .replace(/^docker\.io\//, "")
    .replace(/^library\//, "")
    .replace(/:latest$/, "")

const withoutTag = (image: string): string => image.replace(/@sha256:.*$/, "").replace(/:[^/:]*$/, "")
