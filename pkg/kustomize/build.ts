import { spec } from "./config/default-config.ts"
import type { HelmOptions } from "./generators/helm.ts"
import { FileLoader } from "./loader/file-loader.ts"
import type { KustomizeFiles } from "./loader/files.ts"
import type { RemoteAccess } from "./loader/remote.ts"
import { ORIGIN, TRANSFORMATIONS } from "./resource/annotations.ts"
import type { ResourceMap } from "./resource/resource-map.ts"
import { Schemas } from "./schema/schemas.ts"
import { Target } from "./target/target.ts"
import { entriesTransformer } from "./transformers/labels.ts"
import { sortOrderTransformer } from "./transformers/sort-order.ts"

export interface BuildOptions {
  readonly files: KustomizeFiles
  readonly remote?: RemoteAccess
  /** The order of the output when the kustomization says none. */
  readonly order?: "unspecified" | "legacy" | "none"
  /** Whether files outside the folders of kustomizations may be read. */
  readonly allowsOutside?: boolean
  /** Whether each object gets a label that says what made it. */
  readonly labelsManager?: boolean
  readonly helm?: Partial<HelmOptions>
  /** Gets warnings, each a line. */
  readonly warn?: (message: string) => void
  /** Gets lines of a log, which upstream prints with date and time. */
  readonly log?: (message: string) => void
}

/** The version of kustomize in kubectl 1.36. */
const VERSION = "v5.8.1"
const NO_HELM: HelmOptions = { enabled: false, command: "helm", apiVersions: [], kubeVersion: "", debug: false }

/**
 * Builds the kustomization in a folder or a repository. Source: kustomize api/krusty/kustomizer.go.
 * @throws Error in kustomize's words
 */
export async function buildKustomization(path: string, options: BuildOptions): Promise<ResourceMap> {
  const { files, remote = {}, allowsOutside = false, order = "unspecified" } = options
  const { warn = () => {}, log = () => {} } = options
  const loader = await FileLoader.at({ files, remote, allowsOutside, log }, path)
  try {
    const helm = { ...NO_HELM, ...options.helm }
    const target = await Target.load(loader, { schemas: new Schemas(), helm, warn, log })
    await target.setSchema(true)
    const map = await target.build()
    const { sortOptions, buildMetadata = [] } = target.kustomization
    if (sortOptions !== undefined) {
      if (order !== "unspecified") log(TWO_ORDERS)
      sortOrderTransformer(sortOptions).transform(map)
    } else if (order !== "none") sortOrderTransformer({ order: "legacy" }).transform(map)
    if (options.labelsManager === true || buildMetadata.includes("managedByLabel"))
      entriesTransformer({ "app.kubernetes.io/managed-by": `kustomize-${VERSION}` }, [
        spec("metadata/labels", {}, true),
      ]).transform(map)
    removeAnnotations(map, buildMetadata)
    return map
  } finally {
    await loader.cleanUp()
  }
}

const TWO_ORDERS =
  "Warning: Sorting order is set both in 'kustomization.yaml' ('sortOptions') and in a CLI flag ('--reorder'). " +
  "Using the kustomization file over the CLI flag."

function removeAnnotations(map: ResourceMap, buildMetadata: readonly string[]): void {
  for (const resource of map.resources) {
    resource.removeBuildAnnotations()
    if (!buildMetadata.includes("originAnnotations")) resource.replaceAnnotation(ORIGIN, undefined)
    if (!buildMetadata.includes("transformerAnnotations")) resource.replaceAnnotation(TRANSFORMATIONS, undefined)
  }
}
