/**
 * Volumes whose files come from the API: what they are to hold. Source:
 * pkg/volume/{configmap,secret,downwardapi,projected}.
 */
import { Buffer } from "node:buffer"
import type { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Secret } from "../../../pkg/api/core/v1/secret.ts"
import type { Volume } from "../../../pkg/api/core/v1/volume/volume.ts"
import type {
  DownwardAPIVolumeFile,
  KeyToPath,
  VolumeProjection,
} from "../../../pkg/api/core/v1/volume/volume-projected.ts"
import { podField } from "../downwardapi/pod-fields.ts"
import { resourceField, type NodeAmounts } from "../downwardapi/resource-fields.ts"
import { effective } from "../container/security-context.ts"
import { keyFiles, type Payload, type PayloadFile } from "./payload.ts"

/** Where contents come from. The pod's namespace is meant throughout; a missing object is undefined. */
export interface ContentSources {
  readonly pod: Pod
  readonly hostIps: readonly string[]
  configMap(name: string): Promise<ConfigMap | undefined>
  secret(name: string): Promise<Secret | undefined>
  token(audience: string, expirationSeconds: number): Promise<string>
  node(): Promise<NodeAmounts>
}

const DEFAULT_MODE = 0o644
/** Of a token that a user or a group other than root is to read. */
const PRIVATE_MODE = 0o600

/** Whether the volume's files come from the API. */
export const hasContents = ({ configMap, secret, downwardAPI, projected }: Volume): boolean =>
  configMap !== undefined || secret !== undefined || downwardAPI !== undefined || projected !== undefined

/** The files of such a volume. @throws Error for an object or key that is missing and not optional */
export async function contentsOf(
  { configMap, secret, downwardAPI, projected }: Volume,
  sources: ContentSources,
): Promise<Payload> {
  if (configMap !== undefined) return configMapFiles(configMap, configMap.defaultMode, sources)
  if (secret !== undefined)
    return secretFiles({ ...secret, name: secret.secretName ?? "" }, secret.defaultMode, sources)
  if (downwardAPI !== undefined) return podFiles(downwardAPI.items, downwardAPI.defaultMode, sources)
  if (projected === undefined) throw new Error("the volume takes nothing from the API")
  return projectedFiles(projected.sources ?? [], projected.defaultMode, sources)
}

interface KeySource {
  readonly name: string
  readonly items?: readonly KeyToPath[] | undefined
  readonly optional?: boolean | undefined
}

async function configMapFiles(
  { name, items, optional = false }: KeySource,
  defaultMode = DEFAULT_MODE,
  sources: ContentSources,
): Promise<Payload> {
  const object = await sources.configMap(name)
  if (object === undefined && !optional) throw new Error(`configmap "${name}" not found`)
  const { data = {}, binaryData = {} } = object ?? {}
  return keyFiles({
    data: new Map<string, string | Uint8Array>([...Object.entries(data), ...decoded(binaryData)]),
    items,
    defaultMode,
    optional,
    missing: (key) => `configmap references non-existent config key: ${key}`,
  })
}

async function secretFiles(
  { name, items, optional = false }: KeySource,
  defaultMode = DEFAULT_MODE,
  sources: ContentSources,
): Promise<Payload> {
  const object = await sources.secret(name)
  if (object === undefined && !optional) throw new Error(`secret "${name}" not found`)
  return keyFiles({
    data: new Map(decoded(object?.data ?? {})),
    items,
    defaultMode,
    optional,
    missing: (key) => `references non-existent secret key: ${key}`,
  })
}

const decoded = (data: Readonly<Record<string, string>>): [string, Uint8Array][] =>
  Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64")])

async function podFiles(
  items: readonly DownwardAPIVolumeFile[] = [],
  defaultMode = DEFAULT_MODE,
  { pod, hostIps, node }: ContentSources,
): Promise<Payload> {
  const files = new Map<string, PayloadFile>()
  for (const { path, mode = defaultMode, fieldRef, resourceFieldRef } of items) {
    if (fieldRef !== undefined)
      files.set(path, { mode, data: podField(pod, fieldRef.fieldPath, { podIps: [], hostIps }) })
    else if (resourceFieldRef !== undefined)
      files.set(path, { mode, data: resourceField(pod, resourceFieldRef, await node()) })
  }
  return files
}

/** A later source takes the path of an earlier one. All that is wrong is told at once. */
async function projectedFiles(
  projections: readonly VolumeProjection[],
  defaultMode: number | undefined,
  sources: ContentSources,
): Promise<Payload> {
  const results = await Promise.allSettled(
    projections.map((projection) => projectionFiles(projection, defaultMode, sources)),
  )
  const faults = new Set(results.flatMap((result) => (result.status === "rejected" ? [messageOf(result.reason)] : [])))
  if (faults.size === 1) throw new Error([...faults][0])
  if (faults.size > 1) throw new Error(`[${[...faults].join(", ")}]`)
  return new Map(results.flatMap((result) => (result.status === "fulfilled" ? [...result.value] : [])))
}

async function projectionFiles(
  projection: VolumeProjection,
  defaultMode: number | undefined,
  sources: ContentSources,
): Promise<Payload> {
  const { configMap, secret, downwardAPI, serviceAccountToken, clusterTrustBundle, podCertificate } = projection
  if (configMap !== undefined) return configMapFiles(configMap, defaultMode, sources)
  if (secret !== undefined) return secretFiles(secret, defaultMode, sources)
  if (downwardAPI !== undefined) return podFiles(downwardAPI.items, defaultMode, sources)
  if (serviceAccountToken !== undefined) {
    const { audience = "", expirationSeconds, path } = serviceAccountToken
    const user = onlyUser(sources.pod)
    const hasReader = user !== undefined || sources.pod.spec.securityContext.fsGroup !== undefined
    const data = await sources.token(audience, expirationSeconds)
    return new Map([
      [
        path,
        {
          data,
          mode: hasReader ? PRIVATE_MODE : (defaultMode ?? DEFAULT_MODE),
          ...(user === undefined ? {} : { user }),
        },
      ],
    ])
  }
  if (clusterTrustBundle !== undefined)
    throw new Error(
      "projected source clusterTrustBundle is not supported: ClusterTrustBundles are not served; use a ConfigMap",
    )
  if (podCertificate !== undefined)
    throw new Error(
      "projected source podCertificate is not supported: PodCertificateRequests are not served; use a Secret",
    )
  return new Map()
}

/** The user that all containers of the pod run as, if they all name the same. Source: pkg/volume/util FsUserFrom. */
function onlyUser(pod: Pod): number | undefined {
  const users = new Set(
    [...(pod.spec.initContainers ?? []), ...pod.spec.containers].map(
      (container) => effective(pod, container).runAsUser,
    ),
  )
  return users.size === 1 ? [...users][0] : undefined
}

const messageOf = (err: unknown): string => (err instanceof Error ? err.message : String(err))
