import type { TypedLocalObjectReference, TypedObjectReference } from "../reference.ts"

/**
 * The source of a claim's data is in two fields. The older one, `dataSource`, accepts only claims and snapshots of the
 * same namespace. Source: KEP 1495, EnforceDataSourceBackwardsCompatibility and NormalizeDataSources in
 * pkg/api/persistentvolumeclaim/util.go.
 */
interface Sources {
  readonly dataSource?: TypedLocalObjectReference | undefined
  readonly dataSourceRef?: TypedObjectReference | undefined
}

/**
 * Returns the spec with both fields set to the same source; `old` is the spec that is replaced, if any. A source that
 * the older field does not allow is dropped from it. A source in another namespace is dropped too: its feature gate,
 * CrossNamespaceVolumeDataSource, is off.
 */
export function withDataSources<S extends Sources>(spec: S, old?: Sources): S {
  const isElsewhere = (spec.dataSourceRef?.namespace ?? "") !== "" && old?.dataSourceRef === undefined
  const dataSourceRef = isElsewhere ? undefined : spec.dataSourceRef
  const hadNone = old?.dataSource === undefined && old?.dataSourceRef === undefined
  const isForeign = hadNone && dataSourceRef === undefined && !isClaimOrSnapshot(spec.dataSource)
  const dataSource = isForeign ? undefined : spec.dataSource
  if (dataSource !== undefined && dataSourceRef === undefined)
    return { ...spec, dataSource, dataSourceRef: { ...dataSource } }
  if (dataSource === undefined && dataSourceRef !== undefined && (dataSourceRef.namespace ?? "") === "") {
    const { apiGroup, kind, name } = dataSourceRef
    return { ...spec, dataSource: { apiGroup, kind, name }, dataSourceRef }
  }
  const isSame = dataSource === spec.dataSource && dataSourceRef === spec.dataSourceRef
  return isSame ? spec : { ...spec, dataSource, dataSourceRef }
}

const isClaimOrSnapshot = (source: TypedLocalObjectReference | undefined): boolean =>
  source === undefined ||
  (source.kind === "PersistentVolumeClaim" && (source.apiGroup ?? "") === "") ||
  (source.kind === "VolumeSnapshot" && source.apiGroup === "snapshot.storage.k8s.io")
