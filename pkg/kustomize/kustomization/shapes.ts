/** The types of a kustomization file. Source: kustomize api/types. */
import { embedded, fields, type Shape, type StructShape } from "../go/decode.ts"

const TEXTS: Shape = { list: "string" }
const TEXT_MAP: Shape = { map: "string" }

const struct = (name: string, ...parts: readonly StructShape["fields"][]): StructShape => ({
  struct: `types.${name}`,
  fields: Object.assign({}, ...parts) as StructShape["fields"],
})

const GVK: StructShape = { struct: "resid.Gvk", fields: fields({ group: "string", version: "string", kind: "string" }) }
const RES_ID: StructShape = {
  struct: "resid.ResId",
  fields: { ...embedded("Gvk", GVK), ...fields({ name: "string", namespace: "string" }) },
}
const OBJECT_META = struct(
  "ObjectMeta",
  fields({ name: "string", namespace: "string", labels: TEXT_MAP, annotations: TEXT_MAP }),
)

export const FIELD_SPEC = struct("FieldSpec", embedded("Gvk", GVK), fields({ path: "string", create: "bool" }))
export const FIELD_SPECS: Shape = { list: FIELD_SPEC }
export const SELECTOR = struct(
  "Selector",
  embedded("ResId", RES_ID),
  fields({ annotationSelector: "string", labelSelector: "string" }),
)
const PATCH_ARGS = struct("PatchArgs", fields({ allowNameChange: "bool", allowKindChange: "bool" }))
export const PATCH = struct("Patch", fields({ path: "string", patch: "string", target: SELECTOR, options: PATCH_ARGS }))
const LABEL = struct(
  "Label",
  fields({ pairs: TEXT_MAP, includeSelectors: "bool", includeTemplates: "bool", fields: FIELD_SPECS }),
)
export const IMAGE = struct(
  "Image",
  fields({ name: "string", newName: "string", tagSuffix: "string", newTag: "string", digest: "string" }),
)
export const REPLICA = struct("Replica", fields({ name: "string", count: "int64" }))

const FIELD_OPTIONS = struct(
  "FieldOptions",
  fields({ delimiter: "string", index: "int64", encoding: "string", create: "bool" }),
)
const SOURCE_SELECTOR = struct(
  "SourceSelector",
  embedded("ResId", RES_ID),
  fields({ fieldPath: "string", options: FIELD_OPTIONS }),
)
const TARGET_SELECTOR = struct(
  "TargetSelector",
  fields({ select: SELECTOR, reject: { list: SELECTOR }, fieldPaths: TEXTS, options: FIELD_OPTIONS }),
)
export const REPLACEMENT = struct(
  "Replacement",
  fields({ source: SOURCE_SELECTOR, targets: { list: TARGET_SELECTOR }, sourceValue: "string" }),
)
export const REPLACEMENT_FIELD = struct(
  "ReplacementField",
  embedded("Replacement", REPLACEMENT),
  fields({ path: "string" }),
)
const VAR = struct(
  "Var",
  fields({
    name: "string",
    objref: struct(
      "Target",
      fields({ apiVersion: "string" }),
      embedded("Gvk", GVK),
      fields({ name: "string", namespace: "string" }),
    ),
    fieldref: struct("FieldSelector", fields({ fieldPath: "string" })),
  }),
)
export const SORT_OPTIONS = struct(
  "SortOptions",
  fields({
    order: { text: "types.SortOrder" },
    legacySortOptions: struct("LegacySortOptions", fields({ orderFirst: TEXTS, orderLast: TEXTS })),
  }),
)

const GENERATOR_OPTIONS = struct(
  "GeneratorOptions",
  fields({ labels: TEXT_MAP, annotations: TEXT_MAP, disableNameSuffixHash: "bool", immutable: "bool" }),
)
const SOURCES = struct("KvPairSources", fields({ literals: TEXTS, files: TEXTS, envs: TEXTS, env: "string" }))
const GENERATOR_ARGS = struct(
  "GeneratorArgs",
  fields({ namespace: "string", name: "string", behavior: "string", options: GENERATOR_OPTIONS }),
  embedded("KvPairSources", SOURCES),
)
export const CONFIG_MAP_ARGS = struct("ConfigMapArgs", embedded("GeneratorArgs", GENERATOR_ARGS))
export const SECRET_ARGS = struct("SecretArgs", embedded("GeneratorArgs", GENERATOR_ARGS), fields({ type: "string" }))

export const HELM_GLOBALS = struct("HelmGlobals", fields({ chartHome: "string", configHome: "string" }))
export const HELM_CHART = struct(
  "HelmChart",
  fields({
    name: "string",
    version: "string",
    repo: "string",
    releaseName: "string",
    namespace: "string",
    additionalValuesFiles: TEXTS,
    valuesFile: "string",
    valuesInline: { map: "any" },
    valuesMerge: "string",
    includeCRDs: "bool",
    skipHooks: "bool",
    apiVersions: TEXTS,
    kubeVersion: "string",
    nameTemplate: "string",
    skipTests: "bool",
    debug: "bool",
    devel: "bool",
  }),
)
const HELM_CHART_ARGS = struct(
  "HelmChartArgs",
  fields({
    chartName: "string",
    chartVersion: "string",
    chartRepoUrl: "string",
    chartHome: "string",
    chartRepoName: "string",
    helmBin: "string",
    helmHome: "string",
    values: "string",
    valuesLocal: { map: "any" },
    valuesMerge: "string",
    releaseName: "string",
    releaseNamespace: "string",
    extraArgs: TEXTS,
  }),
)

export const KUSTOMIZATION = struct(
  "Kustomization",
  embedded("TypeMeta", struct("TypeMeta", fields({ apiVersion: "string", kind: "string" }))),
  fields({
    metadata: OBJECT_META,
    openapi: TEXT_MAP,
    namePrefix: "string",
    nameSuffix: "string",
    namespace: "string",
    commonLabels: TEXT_MAP,
    labels: { list: LABEL },
    commonAnnotations: TEXT_MAP,
    patchesStrategicMerge: { list: { text: "types.PatchStrategicMerge" } },
    patchesJson6902: { list: PATCH },
    patches: { list: PATCH },
    images: { list: IMAGE },
    imageTags: { list: IMAGE },
    replacements: { list: REPLACEMENT_FIELD },
    replicas: { list: REPLICA },
    vars: { list: VAR },
    sortOptions: SORT_OPTIONS,
    resources: TEXTS,
    components: TEXTS,
    crds: TEXTS,
    bases: TEXTS,
    configMapGenerator: { list: CONFIG_MAP_ARGS },
    secretGenerator: { list: SECRET_ARGS },
    helmGlobals: HELM_GLOBALS,
    helmCharts: { list: HELM_CHART },
    helmChartInflationGenerator: { list: HELM_CHART_ARGS },
    generatorOptions: GENERATOR_OPTIONS,
    configurations: TEXTS,
    generators: TEXTS,
    transformers: TEXTS,
    validators: TEXTS,
    buildMetadata: TEXTS,
  }),
)

/** The configuration of a builtin plugin has the metadata of an object. */
export const PLUGIN_META: StructShape["fields"] = fields({ metadata: OBJECT_META })
export const pluginShape = (...parts: readonly StructShape["fields"][]): StructShape => ({
  struct: "builtins.Plugin",
  fields: Object.assign({}, ...parts) as StructShape["fields"],
})
