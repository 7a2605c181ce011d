import type { SpanContext as WholeContext } from "@opentelemetry/api"
import type { KubeObject, KubeObjectInput, Resource as DeclaredResource } from "../../pkg/apimachinery/resource.ts"
import type { ContainerHandle } from "../../components/kubelet/runtime/simulated/containers/behaviour.ts"
import type { SimulatedContainer as WholeContainer } from "../../components/kubelet/runtime/simulated/containers/container.ts"
import type { SimulatedRuntime as WholeMachine } from "../../components/kubelet/runtime/simulated/simulated-runtime.ts"

/**
 * What users of the package see of types that reach far into the program: the part that is promised. `declarations.ts`
 * puts these in the place of the types of the same names; `Checks` has the compiler verify that each is a part of its
 * own.
 */

/** A kind. Client, informers and controllers take it, and know the types of its objects by it. */
export interface Resource<T extends KubeObject = KubeObject, I extends KubeObjectInput = KubeObjectInput> {
  readonly group: string
  readonly version: string
  /** `<group>/<version>`, or the version alone in the core group. */
  readonly apiVersion: string
  readonly kind: string
  readonly plural: string
  readonly singular: string
  readonly shortNames?: readonly string[]
  readonly scope: "Namespaced" | "Cluster"
  /** What the kind is for. */
  readonly doc: string
  /** Only for the type checker: the type of objects that are read. */
  readonly "~out"?: T
  /** Only for the type checker: the type of what may be sent. */
  readonly "~in"?: I
}

/** One run of a container on a simulated node, to inspect or disturb it. */
export interface SimulatedContainer extends ContainerHandle {
  readonly id: string
  readonly state: "CONTAINER_CREATED" | "CONTAINER_RUNNING" | "CONTAINER_EXITED"
  readonly running: boolean
  /** Whether the ports of the container accept connections. */
  readonly listens: boolean
  /** Milliseconds since the epoch; 0 before. */
  readonly finishedAt: number
  readonly exitCode: number
  /** Why it has ended, such as `OOMKilled`. */
  readonly reason: string
  /** Bytes of memory in use. */
  readonly memory: number
  /** Returns all that the container has written, without timestamps. */
  written(): string
  /** Ends the container as SIGKILL does. */
  kill(): void
}

/** The simulated machine of a node. */
export interface SimulatedRuntime {
  readonly containers: {
    /** Returns the newest run of a container, by the UID of its pod. */
    find(podUid: string, name: string): SimulatedContainer | undefined
  }
  /** The files of the machine by their absolute paths: volumes, logs. */
  readonly files: {
    get(path: string): string | undefined
    put(path: string, text: string): void
    has(path: string): boolean
    /** Returns the paths of all files in a folder and its folders. */
    below(folder: string): readonly string[]
  }
  readonly images: {
    /** Returns the images that the machine has, or only the one of this reference. */
    listImages(
      image?: string,
    ): Promise<
      readonly { readonly id: string; readonly repoTags: readonly string[]; readonly repoDigests: readonly string[] }[]
    >
    removeImage(image: string): Promise<void>
  }
}

/** Which trace a span belongs to, and its own name there. */
export interface SpanContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** 16 hexadecimal digits. */
  readonly spanId: string
  /** 1 when the span is sampled. */
  readonly traceFlags: number
}

type IsPart<Whole extends Part, Part> = [Whole, Part]
export type Checks = [
  IsPart<DeclaredResource, Resource>,
  IsPart<WholeContainer, SimulatedContainer>,
  IsPart<WholeMachine, SimulatedRuntime>,
  IsPart<WholeContext, SpanContext>,
]
