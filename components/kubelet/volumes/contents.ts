import type { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Secret } from "../../../pkg/api/core/v1/secret.ts"
import type { KeyToPath } from "../../../pkg/api/core/v1/volume/volume-projected.ts"
import type { NodeAmounts } from "../downwardapi/resource-fields.ts"
import type { Payload } from "./payload.ts"
import type { Reference } from "./references.ts"

/** Where contents come from. The pod's namespace is meant throughout; a missing object is undefined. */
export interface ContentSources {
  readonly pod: Pod
  readonly hostIps: readonly string[]
  configMap(name: string): Promise<ConfigMap | undefined>
  secret(name: string): Promise<Secret | undefined>
  token(audience: string, expirationSeconds: number): Promise<string>
  node(): Promise<NodeAmounts>
}

/** What a volume, or a part of a projected one, takes from the API: its files, and when they must be made again. */
export interface Contents {
  /** The objects that the files come from. */
  readonly references: readonly Reference[]
  /** Whether the files tell of the pod itself, so that a change of the pod changes them. */
  readonly fromPod: boolean
  /** Whether a file is a token, which is renewed. */
  readonly hasToken: boolean
  /** The files. @throws Error for an object or key that is missing and not optional */
  files(sources: ContentSources): Promise<Payload>
}

/** Permission bits of a file unless the volume or the file says otherwise. */
export const DEFAULT_MODE = 0o644

/** Keys of an object, as a volume or a projection names them. */
export interface KeySource {
  readonly name: string
  readonly items?: readonly KeyToPath[] | undefined
  readonly optional?: boolean | undefined
}
