/**
 * How containers of a simulated image behave. Times are in milliseconds of the cluster's clock. Fields that are left
 * out have the defaults of `images.ts`.
 */
export interface ImageBehaviour {
  /** How long a pull takes; 0 by default. */
  readonly pullMs?: number
  /** The registry's error message with which every pull fails. */
  readonly pullError?: string
  /** The size that the Node's status shows; 5,000,000 by default. */
  readonly sizeBytes?: number
  /** The user id that the image sets; 0 by default. */
  readonly uid?: number
  /** How long a container takes to start. */
  readonly startMs?: number
  /** The runtime's error message with which every start fails. */
  readonly startError?: string
  /** The container exits by itself after this time, with `exitCode`; if undefined it runs until it is stopped. */
  readonly runsMs?: number
  /** 0 by default. */
  readonly exitCode?: number
  /**
   * The container runs until it is stopped, whatever its command is, and probes and hooks by commands succeed. By
   * default a few commands of a shell are understood, and an interpreter without one ends.
   */
  readonly ignoresCommand?: boolean
  /** Written to terminationMessagePath when the container exits by itself. */
  readonly terminationMessage?: string
  /** Lines that the container writes to stdout when it starts. */
  readonly logs?: readonly string[]
  /** Memory that a running container uses, in bytes. Above its limit it is killed: OOMKilled, exit code 137. */
  readonly memoryBytes?: number
  /**
   * Returns how many cores the container uses at this moment, such as 0.25; without it, 0. An exception, and a result
   * that is not such a number, is reported as an error of the test.
   */
  readonly cpu?: (container: ContainerHandle) => number
  /**
   * What the container does on its stop signal: `exit` at once (the default), `ignore` it, `drain` (close its ports,
   * answer the requests that it has, then exit with 0), or exit after `afterMs`.
   */
  readonly onStop?: "exit" | "ignore" | "drain" | { readonly afterMs: number; readonly exitCode?: number }
  /** The ports of the container refuse connections until this time after its start. */
  readonly listensAfterMs?: number
  /**
   * Answers requests to the ports of the container; by default with 200 and `ok`. An exception closes the connection.
   * The body of the answer may be a stream, which is reset when the container ends.
   */
  readonly http?: (request: Request, container: ContainerHandle) => Response | Promise<Response>
  /** Returns the status for grpc.health.v1; SERVING by default. */
  readonly grpc?: (
    service: string,
    container: ContainerHandle,
  ) => "UNKNOWN" | "SERVING" | "NOT_SERVING" | "SERVICE_UNKNOWN"
  /**
   * Answers `kubectl exec`, exec probes and hooks. A number is an exit code, a string is stdout. By default a few
   * commands of a shell are understood.
   */
  readonly exec?: (command: readonly string[], container: ContainerHandle) => ExecAnswer | Promise<ExecAnswer>
  /**
   * The program of the container, instead of `runsMs`: its result is the exit code. `container.stopping` aborts at the
   * stop signal.
   */
  readonly run?: (container: ContainerHandle) => Promise<number | void>
}

export type ExecAnswer =
  | number
  | string
  | { readonly exitCode?: number; readonly stdout?: string; readonly stderr?: string }

/** A running container, as functions of its behaviour see it. */
export interface ContainerHandle {
  readonly pod: { readonly namespace: string; readonly name: string; readonly uid: string; readonly ip: string }
  readonly name: string
  readonly node: string
  readonly image: string
  /** How often the container was restarted. */
  readonly attempt: number
  readonly command: readonly string[]
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  /** Aborts when the container gets its stop signal. */
  readonly stopping: AbortSignal
  now(): number
  /** Resolves after `ms`, or when the container exits. Later calls never resolve, so that its program ends. */
  sleep(ms: number): Promise<void>
  /**
   * Sends a request from the pod: to a Service or another name by the pod's DNS, or to an address. NetworkPolicies
   * apply to the pod. Redirects are not followed. Fails with an error that has Linux's `code`, such as ECONNREFUSED,
   * and when the container exits.
   */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>
  /** Returns the addresses of a name by the pod's DNS. Fails with the `code` ENOTFOUND for an unknown name. */
  lookup(name: string): Promise<readonly string[]>
  /** Writes a line to the log of the container. */
  log(line: string, stream?: "stdout" | "stderr"): void
  /** Returns the text of a file in the container, for example in one of its volumes. */
  read(path: string): Promise<string | undefined>
  /** Sets how much memory the container uses from now on. */
  useMemory(bytes: number): void
  /** Ends the container now. */
  exit(code: number): void
}

/** The container that asks for its behaviour. */
export interface RunningAs {
  readonly namespace: string
  readonly pod: string
  readonly container: string
  /** As its pod names it. */
  readonly image: string
}

/** Behaviours by image name. A name without a tag stands for all its tags; `*` at the end matches any continuation. */
export class ImageBehaviours {
  readonly #exact = new Map<string, ImageBehaviour>()
  readonly #prefixes: [prefix: string, behaviour: ImageBehaviour][] = []

  /** Called with the error of a behaviour's function that has no caller to which the error could be returned. */
  readonly failed: (failure: Error) => void

  constructor(images: Readonly<Record<string, ImageBehaviour>> = {}, failed: (failure: Error) => void = () => {}) {
    this.failed = failed
    for (const [image, behaviour] of Object.entries(images)) this.set(image, behaviour)
  }

  set(image: string, behaviour: ImageBehaviour): void {
    if (image.endsWith("*")) this.#prefixes.unshift([familiar(image.slice(0, -1)), behaviour])
    else this.#exact.set(familiar(image), behaviour)
  }

  /** Returns how an image behaves, for the container `as` if that is given: a subclass may tell them apart. */
  of(image: string, _as?: RunningAs): ImageBehaviour {
    const name = familiar(image)
    return (
      this.#exact.get(name) ??
      this.#exact.get(withoutTag(name)) ??
      this.#prefixes.find(([prefix]) => name.startsWith(prefix))?.[1] ??
      DEFAULT
    )
  }
}

/** Shared by all containers whose image has no behaviour of its own. */
const DEFAULT: ImageBehaviour = {}

/** Returns the name that users write: `nginx:1` for `docker.io/library/nginx:1`. */
export const familiar = (image: string): string =>
  image
    .replace(/^docker\.io\//, "")
    .replace(/^library\//, "")
    .replace(/:latest$/, "")

const withoutTag = (image: string): string => image.replace(/@sha256:.*$/, "").replace(/:[^/:]*$/, "")
