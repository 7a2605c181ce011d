/** Loads transformers, generators and validators that are configured by objects. Source: kustomize plugins/loader. */
import { errorMessage } from "../../errors/error-message.ts"
import { parseYaml } from "../../yaml/yaml.ts"
import type { FieldSpec } from "../config/field-spec.ts"
import { fieldSpecOf } from "../config/read-config.ts"
import { configMapGenerator, secretGenerator } from "../generators/generator.ts"
import type { HelmChart } from "../generators/helm-arguments.ts"
import { helmGenerator } from "../generators/helm.ts"
import { IAM_POLICY, iamPolicyGenerator, type IamPolicyConfig } from "../generators/iam-policy.ts"
import { decode, fields, type Shape, type StructShape } from "../go/decode.ts"
import type {
  GeneratorArgs,
  GeneratorOptions,
  Image,
  Patch,
  Replacement,
  Replica,
  Selector,
} from "../kustomization/kustomization.ts"
import * as shapes from "../kustomization/shapes.ts"
import type { Resource } from "../resource/resource.ts"
import { gvkText } from "../resource/gvk.ts"
import { idText } from "../resource/res-id.ts"
import { HASH_TRANSFORMER } from "../transformers/hash.ts"
import { imageTransformer } from "../transformers/images.ts"
import { entriesTransformer } from "../transformers/labels.ts"
import { jsonPatchTransformer, strategicMergeTransformer } from "../transformers/legacy-patches.ts"
import { namespaceTransformer, type SubjectMode } from "../transformers/namespace.ts"
import { prefixTransformer, suffixTransformer } from "../transformers/names.ts"
import { patchTransformer } from "../transformers/patches.ts"
import { readReplacements } from "../transformers/read-replacements.ts"
import { replacementTransformer } from "../transformers/replacements.ts"
import { replicaTransformer } from "../transformers/replicas.ts"
import type { Generator, Transformer } from "../transformers/transformer.ts"
import { VALUE_ADD, valueAddTransformer, type ValueAddConfig } from "../transformers/value-add.ts"
import type { BuiltInContext } from "./built-ins.ts"

type Plugin = Generator | Transformer

/** What the configurations of plugins may hold. */
interface Config extends Omit<GeneratorArgs, "options">, Omit<Patch, "options">, ValueAddConfig {
  readonly options?: GeneratorOptions & NonNullable<Patch["options"]>
  readonly metadata?: { readonly name?: string; readonly namespace?: string }
  readonly annotations?: Readonly<Record<string, string>>
  readonly labels?: Readonly<Record<string, string>>
  readonly prefix?: string
  readonly suffix?: string
  readonly unsetOnly?: boolean
  readonly setRoleBindingSubjects?: string
  readonly fieldSpecs?: readonly Partial<FieldSpec>[]
  readonly imageTag?: Image
  readonly replica?: Replica
  readonly replacements?: readonly Replacement[]
  readonly jsonOp?: string
  readonly paths?: readonly string[]
  readonly patches?: string
  readonly target?: Selector
  readonly type?: string
}

interface Maker {
  readonly shape: StructShape
  make(config: Config, context: BuiltInContext & { readonly yaml: string }): Plugin | Promise<Plugin>
}

const TEXT_MAP: Shape = { map: "string" }
const SPECS = fields({ fieldSpecs: shapes.FIELD_SPECS })
const plugin = (shape: Readonly<Record<string, Shape>>, ...more: readonly StructShape["fields"][]): StructShape =>
  shapes.pluginShape(shapes.PLUGIN_META, fields(shape), ...more)

const specsOf = ({ fieldSpecs = [] }: Config): readonly FieldSpec[] => fieldSpecs.map(fieldSpecOf)
const namedArgs = (config: Config): Config => ({
  ...config,
  name: config.name || config.metadata?.name || "",
  namespace: config.namespace || config.metadata?.namespace || "",
})

/** Returns the given field specs. @throws Error when there are none */
function requiredSpecs(config: Config): readonly FieldSpec[] {
  if (config.fieldSpecs === undefined) throw new Error("fieldSpecs is not expected to be nil")
  return specsOf(config)
}

/** The builtin plugins. The one that sorts is not among them: only the top of a build sorts. */
const MAKERS: Readonly<Record<string, Maker>> = {
  AnnotationsTransformer: {
    shape: plugin({ annotations: TEXT_MAP }, SPECS),
    make: (config) => entriesTransformer(config.annotations ?? {}, specsOf(config)),
  },
  ConfigMapGenerator: {
    shape: plugin({}, shapes.CONFIG_MAP_ARGS.fields),
    make: (config, context) => configMapGenerator(namedArgs(config), context),
  },
  HashTransformer: { shape: plugin({}), make: () => HASH_TRANSFORMER },
  HelmChartInflationGenerator: {
    shape: plugin({}, shapes.HELM_GLOBALS.fields, shapes.HELM_CHART.fields),
    make: (config, context) => helmGenerator(config as HelmChart, context),
  },
  IAMPolicyGenerator: {
    shape: IAM_POLICY,
    make: (config, { schemas }) => iamPolicyGenerator(config as IamPolicyConfig, schemas),
  },
  ImageTagTransformer: {
    shape: plugin({ imageTag: shapes.IMAGE }, SPECS),
    make: (config) => imageTransformer(config.imageTag ?? {}, specsOf(config)),
  },
  LabelTransformer: {
    shape: plugin({ labels: TEXT_MAP }, SPECS),
    make: (config) => entriesTransformer(config.labels ?? {}, specsOf(config)),
  },
  NamespaceTransformer: {
    shape: plugin({ unsetOnly: "bool", setRoleBindingSubjects: { text: "namespace.RoleBindingSubjectMode" } }, SPECS),
    make: (config) => {
      const subjects = config.setRoleBindingSubjects || "defaultOnly"
      if (!["defaultOnly", "none", "allServiceAccounts"].includes(subjects))
        throw new Error(
          `invalid value ${JSON.stringify(subjects)} for setRoleBindingSubjects: ` +
            `must be one of "defaultOnly", "none" or "allServiceAccounts"`,
        )
      const namespace = config.metadata?.namespace ?? ""
      return namespaceTransformer({
        namespace,
        specs: specsOf(config),
        unsetOnly: config.unsetOnly ?? false,
        subjects: subjects as SubjectMode,
      })
    },
  },
  PatchJson6902Transformer: {
    shape: plugin({ target: shapes.SELECTOR, path: "string", jsonOp: "string" }),
    make: (config, { loader }) => jsonPatchTransformer(config, loader),
  },
  PatchStrategicMergeTransformer: {
    shape: plugin({ paths: { list: "string" }, patches: "string" }),
    make: (config, context) => strategicMergeTransformer(config, context),
  },
  PatchTransformer: {
    shape: plugin({}, shapes.PATCH.fields),
    make: (config, context) => patchTransformer(config, { ...context, config: context.yaml }),
  },
  PrefixTransformer: {
    shape: plugin({ prefix: "string" }, SPECS),
    make: (config) => prefixTransformer(config.prefix ?? "", requiredSpecs(config)),
  },
  PrefixSuffixTransformer: {
    shape: plugin({ prefix: "string", suffix: "string" }, SPECS),
    make: (config) => {
      const prefixes = prefixTransformer(config.prefix ?? "", requiredSpecs(config))
      const suffixes = suffixTransformer(config.suffix ?? "", requiredSpecs(config))
      return {
        transform(map) {
          prefixes.transform(map)
          suffixes.transform(map)
        },
      }
    },
  },
  SuffixTransformer: {
    shape: plugin({ suffix: "string" }, SPECS),
    make: (config) => suffixTransformer(config.suffix ?? "", requiredSpecs(config)),
  },
  ReplacementTransformer: {
    shape: plugin({ replacements: { list: shapes.REPLACEMENT_FIELD } }),
    make: async (config, { loader }) =>
      replacementTransformer(await readReplacements(config.replacements ?? [], loader)),
  },
  ReplicaCountTransformer: {
    shape: plugin({ replica: shapes.REPLICA }, SPECS),
    make: (config) => replicaTransformer(config.replica ?? {}, specsOf(config)),
  },
  SecretGenerator: {
    shape: plugin({}, shapes.SECRET_ARGS.fields),
    make: (config, context) => secretGenerator(namedArgs(config), context),
  },
  ValueAddTransformer: { shape: VALUE_ADD, make: (config, { loader }) => valueAddTransformer(config, loader) },
}

/** Returns the plugin that an object configures. @throws Error when it is not built in */
async function loadPlugin(resource: Resource, context: BuiltInContext): Promise<Plugin> {
  const { gvk } = resource
  if (gvk.group !== "" || gvk.version !== "builtin")
    throw new Error(`external plugins disabled; unable to load external plugin '${resource.originalId.kind}'`)
  const maker = Object.hasOwn(MAKERS, gvk.kind) ? MAKERS[gvk.kind] : undefined
  if (maker === undefined) throw new Error(`unable to load builtin ${gvkText(gvk)}`)
  const yaml = resource.toYaml()
  try {
    const config = (decode(parseYaml(yaml).value, maker.shape, { coerces: true }) ?? {}) as Config
    return await maker.make(config, { ...context, yaml })
  } catch (err) {
    throw new Error(`plugin ${idText(resource.originalId)} fails configuration: ${errorMessage(err)}`, { cause: err })
  }
}

export async function loadGenerator(resource: Resource, context: BuiltInContext): Promise<Generator> {
  try {
    const plugin = await loadPlugin(resource, context)
    if (!("generate" in plugin)) throw new Error(`plugin ${idText(resource.originalId)} not a generator`)
    return plugin
  } catch (err) {
    throw new Error(`failed to load generator: ${errorMessage(err)}`, { cause: err })
  }
}

export async function loadTransformer(resource: Resource, context: BuiltInContext): Promise<Transformer> {
  const plugin = await loadPlugin(resource, context)
  if (!("transform" in plugin)) throw new Error(`plugin ${idText(resource.originalId)} not a transformer`)
  return plugin
}
