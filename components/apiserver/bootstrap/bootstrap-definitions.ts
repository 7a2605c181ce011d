import { CustomResourceDefinition } from "../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import { asKind } from "../../../pkg/apimachinery/resource.ts"
import { GATEWAY_GROUP } from "../../../pkg/gateway-api/k3ts-class.ts"
import { pushAll } from "../../../pkg/lists/push-all.ts"
import type { DefinitionManifest } from "../../../pkg/operator/custom-resource/define-custom-resource.ts"
import type { Storage } from "../../../pkg/storage/storage.ts"
import { asWritten } from "../apiextensions/conditions.ts"
import { named } from "../apiextensions/names.ts"
import { storageKey } from "../cacher/view.ts"
import { want, type Wanted } from "./bootstrap-object.ts"

export interface DefinitionsOptions {
  readonly storage: Pick<Storage, "get" | "list">
  /** Whether the kinds of Gateway API are defined. */
  readonly gateway?: boolean
  /** Whether the kinds HelmChart and HelmChartConfig are defined. */
  readonly helm?: boolean
  /** Whether the kind Addon is defined. */
  readonly addons?: boolean
}

const HELM_DEFINITIONS = ["helmcharts.helm.cattle.io", "helmchartconfigs.helm.cattle.io"]
const ADDON_DEFINITION = "addons.k3s.cattle.io"

/**
 * Returns the definitions of kinds of this server that are not stored yet: stored ones are left as they are. They are
 * written here, since a request would load CEL for their rules, and with their accepted names, so that their kinds are
 * served without another write. What declares them is loaded only where one is missing.
 */
export async function missingDefinitions(options: DefinitionsOptions): Promise<readonly Wanted[]> {
  const { storage, gateway, helm, addons } = options
  const stored = storage
    .list(storageKey(CustomResourceDefinition, { name: "" }))
    .map(({ object }) => asKind(CustomResourceDefinition, object))
  const lacks = (name: string) => stored.every(({ metadata }) => metadata.name !== name)
  const manifests: DefinitionManifest[] = []
  // A cluster keeps the definitions of Gateway API that somebody has installed: all of them.
  if (gateway === true && stored.every(({ spec }) => spec.group !== GATEWAY_GROUP))
    pushAll(manifests, (await import("../../../pkg/gateway-api/definitions.ts")).DEFINITIONS)
  if (helm === true && HELM_DEFINITIONS.some(lacks)) {
    const { helmchart, helmchartconfig } = await import("../../../pkg/k3s-kinds/helmchart.ts")
    manifests.push(helmchart.crd, helmchartconfig.crd)
  }
  if (addons === true && lacks(ADDON_DEFINITION))
    manifests.push((await import("../../../pkg/k3s-kinds/addon.ts")).addon.crd)
  const taken = [...stored]
  return manifests
    .filter(({ metadata }) => lacks(metadata.name))
    .map((manifest) => ({
      ...want(CustomResourceDefinition, manifest),
      complete(made, now) {
        const definition = asKind(CustomResourceDefinition, made)
        const others = taken.filter(({ spec }) => spec.group === definition.spec.group)
        const next = named(definition, others, now)
        taken.push(next)
        return asWritten(definition, next, now)
      },
    }))
}
