/** The transformers and generators of the fields of a kustomization. Source: kustomize kusttarget_configplugin.go. */
import { writeYaml } from "../../yaml/write.ts"
import { errorMessage } from "../../errors/error-message.ts"
import { spec } from "../config/default-config.ts"
import { mergeSpecs, type FieldSpec } from "../config/field-spec.ts"
import { fieldSpecOf } from "../config/read-config.ts"
import type { TransformerConfig } from "../config/transformer-config.ts"
import { configMapGenerator, secretGenerator, withGlobalOptions } from "../generators/generator.ts"
import { helmGenerator, type HelmOptions } from "../generators/helm.ts"
import type { Kustomization, Label } from "../kustomization/kustomization.ts"
import type { FileLoader } from "../loader/file-loader.ts"
import { withPrefix } from "../node/errors.ts"
import type { Schemas } from "../schema/schemas.ts"
import { imageTransformer } from "../transformers/images.ts"
import { entriesTransformer } from "../transformers/labels.ts"
import { jsonPatchTransformer, strategicMergeTransformer } from "../transformers/legacy-patches.ts"
import { namespaceTransformer } from "../transformers/namespace.ts"
import { prefixTransformer, suffixTransformer } from "../transformers/names.ts"
import { patchTransformer } from "../transformers/patches.ts"
import { readReplacements } from "../transformers/read-replacements.ts"
import { replacementTransformer } from "../transformers/replacements.ts"
import { replicaTransformer } from "../transformers/replicas.ts"
import type { Generator, Transformer } from "../transformers/transformer.ts"

export interface BuiltInContext {
  readonly loader: FileLoader
  readonly schemas: Schemas
  readonly helm: HelmOptions
  /** The namespace of the kustomization that includes this one. */
  readonly outerNamespace: string
}

/** A transformer or generator, with the name of its kind. */
export interface BuiltIn<T> {
  readonly kind: string
  readonly plugin: T
}

/** Runs what configures a plugin. Errors show its configuration. */
async function configured<T>(
  kind: string,
  config: object,
  make: (yaml: string) => T | Promise<T>,
): Promise<BuiltIn<T>> {
  const yaml = writeYaml(config)
  try {
    return { kind, plugin: await make(yaml) }
  } catch (err) {
    throw new Error(`trouble configuring builtin ${kind} with config: \`\n${yaml}\`: ${errorMessage(err)}`, {
      cause: err,
    })
  }
}

export async function builtInGenerators(
  kustomization: Kustomization,
  context: BuiltInContext,
): Promise<readonly BuiltIn<Generator>[]> {
  const made: BuiltIn<Generator>[] = []
  const { generatorOptions } = kustomization
  for (const args of kustomization.configMapGenerator ?? []) {
    const options = withGlobalOptions(args.options, generatorOptions)
    const config = options === undefined ? args : { ...args, options }
    made.push(await configured("ConfigMapGenerator", config, () => configMapGenerator(config, context)))
  }
  for (const args of kustomization.secretGenerator ?? []) {
    const options = withGlobalOptions(args.options, generatorOptions)
    const config = options === undefined ? args : { ...args, options }
    made.push(await configured("SecretGenerator", config, () => secretGenerator(config, context)))
  }
  for (const chart of kustomization.helmCharts ?? []) {
    const namespace = chart.namespace || kustomization.namespace || context.outerNamespace
    const config = { ...kustomization.helmGlobals, ...chart, ...(namespace === "" ? {} : { namespace }) }
    made.push(await configured("HelmChartInflationGenerator", config, () => helmGenerator(config, context)))
  }
  return made
}

/** Returns the transformers in the order in which they run. */
export async function builtInTransformers(
  kustomization: Kustomization,
  config: TransformerConfig,
  context: BuiltInContext,
): Promise<readonly BuiltIn<Transformer>[]> {
  const made: BuiltIn<Transformer>[] = []
  const add = async (kind: string, plain: object, make: (yaml: string) => Transformer | Promise<Transformer>) => {
    made.push(await configured(kind, plain, make))
  }
  const { patchesStrategicMerge: paths = [], namespace, namePrefix, nameSuffix } = kustomization
  if (paths.length > 0)
    await add("PatchStrategicMergeTransformer", { paths }, () => strategicMergeTransformer({ paths }, context))
  for (const patch of kustomization.patches ?? [])
    await add("PatchTransformer", patch, (yaml) => patchTransformer(patch, { ...context, config: yaml }))
  if (namespace !== undefined && namespace !== "")
    await add("NamespaceTransformer", {}, () => namespaceTransformer({ namespace, specs: config.namespace }))
  if (namePrefix !== undefined && namePrefix !== "")
    await add("PrefixTransformer", {}, () => prefixTransformer(namePrefix, config.namePrefix))
  if (nameSuffix !== undefined && nameSuffix !== "")
    await add("SuffixTransformer", {}, () => suffixTransformer(nameSuffix, config.nameSuffix))
  for (const label of kustomization.labels ?? []) {
    const specs = labelSpecs(label, config)
    await add("LabelTransformer", {}, () => entriesTransformer(label.pairs ?? {}, specs))
  }
  const { commonLabels = {}, commonAnnotations = {} } = kustomization
  if ((kustomization.labels ?? []).length > 0 || Object.keys(commonLabels).length > 0)
    await add("LabelTransformer", {}, () => entriesTransformer(commonLabels, config.commonLabels))
  if (Object.keys(commonAnnotations).length > 0)
    await add("AnnotationsTransformer", {}, () => entriesTransformer(commonAnnotations, config.commonAnnotations))
  for (const { target, path, patch } of kustomization.patchesJson6902 ?? []) {
    const given = { ...(target && { target }), ...(path && { path }), ...(patch && { jsonOp: patch }) }
    await add("PatchJson6902Transformer", given, () => jsonPatchTransformer(given, context.loader))
  }
  for (const replica of kustomization.replicas ?? [])
    await add("ReplicaCountTransformer", {}, () => replicaTransformer(replica, config.replicas))
  for (const image of kustomization.images ?? [])
    await add("ImageTagTransformer", {}, () => imageTransformer(image, config.images))
  const { replacements = [] } = kustomization
  if (replacements.length > 0)
    await add("ReplacementTransformer", { replacements }, async () =>
      replacementTransformer(await readReplacements(replacements, context.loader)),
    )
  return made
}

/** Returns the fields that an entry of `labels` is added to. */
function labelSpecs(label: Label, config: TransformerConfig): readonly FieldSpec[] {
  return withPrefix("failed to merge labels", () => {
    const specs = mergeSpecs((label.fields ?? []).map(fieldSpecOf), config.labels)
    if (label.includeSelectors === true) return mergeSpecs(specs, config.commonLabels)
    const withTemplates =
      label.includeTemplates === true
        ? withPrefix("failed to merge template fieldSpec", () => mergeSpecs(specs, config.templateLabels))
        : specs
    return mergeSpecs(withTemplates, [spec("metadata/labels", {}, true)])
  })
}
