import { ConfigMap } from "../../pkg/api/core/v1/configmap.ts"
import { Secret } from "../../pkg/api/core/v1/secret/secret.ts"
import type { KubeObject, Resource } from "../../pkg/apimachinery/resource.ts"
import type { ListOptions } from "../../pkg/client/client.ts"
import { RELEASE_TYPE } from "../../pkg/helm/release.ts"

/** What Helm's HELM_DRIVER may be, apart from databases. */
export type ReleaseDriverName = "secret" | "configmap"

/** What both kinds have in common. */
export interface ReleaseObject extends KubeObject {
  readonly data?: Readonly<Record<string, string>> | undefined
}

/** In objects of which kind a release is kept, and how. Source: helm.sh/helm/v3/pkg/storage/driver. */
export interface ReleaseDriver {
  readonly kind: Resource
  /** What finds the objects of releases among those with Helm's labels. */
  readonly selected: ListOptions
  /** Fields of each object, beside metadata and data. */
  readonly fields: Readonly<Record<string, unknown>>
  /** Makes a text the value of a key. */
  readonly encode: (text: string) => string
  readonly decode: (value: string) => string
}

export const DRIVERS: Readonly<Record<ReleaseDriverName, ReleaseDriver>> = {
  secret: {
    kind: Secret,
    selected: { fieldSelector: `type=${RELEASE_TYPE}` },
    fields: { type: RELEASE_TYPE },
    encode: (text) => Buffer.from(text, "latin1").toString("base64"),
    decode: (value) => Buffer.from(value, "base64").toString("latin1"),
  },
  configmap: { kind: ConfigMap, selected: {}, fields: {}, encode: (text) => text, decode: (value) => value },
}
