import { command, type Command, type Invocation } from "../../command/command.ts"
import { type Flags, type FlagValues } from "../../command/flag.ts"
import {
  dryRunFlag,
  dryRunOf,
  fieldManagerFlag,
  fieldValidationOf,
  saveConfigFlag,
  validateFlag,
  withDryRun,
} from "../../command/shared-flags.ts"
import { errorMessage } from "../../../errors/error-message.ts"
import { LAST_APPLIED } from "../../last-applied.ts"
import { printerOf, printFlags } from "../../printers/print-flags.ts"
import { typedAnswer } from "../../printers/typed-answer.ts"
import { typedObject } from "../../printers/printer.ts"
import { Helper } from "../../resource/helper.ts"
import { goJson, parseGroupVersion, type ObjectMeta, type OwnerReference, type Unstructured } from "../../rest/json.ts"

const commonFlags = () => ({
  ...printFlags(),
  ...saveConfigFlag(),
  ...validateFlag(),
  ...dryRunFlag(),
  ...fieldManagerFlag("kubectl-create"),
})

type CommonFlags = ReturnType<typeof commonFlags>

/** What the maker of an object gets. */
export interface GeneratorContext<F extends Flags> {
  readonly name: string
  /** The namespace of `--namespace`; undefined where the flag is not set. The request has one all the same. */
  readonly namespace: string | undefined
  readonly flags: FlagValues<F & CommonFlags>
  /** The arguments after the name: a container's command. */
  readonly words: readonly string[]
  readonly invocation: Invocation<F & CommonFlags>
}

/** A command that makes one object of its arguments. */
export interface Generator<F extends Flags> {
  readonly use: string
  readonly aliases?: readonly string[]
  /** Whether help adds `[flags]` to the line of usage. */
  readonly flagsInUse?: boolean
  readonly short: string
  readonly long: string
  readonly example: string
  readonly flags: F
  /** The flags without which nothing is made, sorted. */
  readonly required?: readonly (keyof F & string)[]
  /** Of the object: `apps/v1`. */
  readonly apiVersion: string
  readonly kind: string
  /** The plural name in paths. */
  readonly resource: string
  readonly clusterScoped?: boolean
  /** Whether `--save-config` changes nothing, as for Services in kubectl. */
  readonly ignoresSaveConfig?: boolean
  /** What a refusal of the server is called; without it, the refusal is reported as it is. */
  readonly failure?: string
  /**
   * Returns the fields of the object but for its kind, in the order in which Go has them.
   * @throws Error for arguments of which there is no object
   */
  make(context: GeneratorContext<F>): Promise<ObjectFields> | ObjectFields
}

export interface ObjectFields {
  readonly metadata: ObjectMeta
  readonly [field: string]: unknown
}

/** Makes the command of a generator. Source: kubectl pkg/cmd/create. */
export function generator<const F extends Flags>(definition: Generator<F>): Command {
  const { use, aliases, short, long, example, required = [] } = definition
  const flags: F & CommonFlags = { ...commonFlags(), ...definition.flags }
  return command<F & CommonFlags>({
    use,
    ...(aliases === undefined ? {} : { aliases }),
    noFlagsInUse: definition.flagsInUse !== true,
    short,
    long,
    example,
    flags,
    async run(invocation) {
      requireFlags(invocation, required)
      const name = nameOfArguments(invocation)
      await generate(definition, name, invocation)
    },
  })
}

/** @throws Error that names the flags that are not set. Source: cobra command.go (ValidateRequiredFlags). */
function requireFlags<F extends Flags>({ changed }: Invocation<F>, required: readonly (keyof F & string)[]): void {
  const missing = required.filter((flag) => !changed(flag)).map((flag) => `"${flag}"`)
  if (missing.length > 0) throw new Error(`required flag(s) ${missing.join(", ")} not set`)
}

/** Returns the only argument before a `--`. Source: kubectl pkg/cmd/create/create.go (NameFromCommandArgs). */
export function nameOfArguments({
  args,
  argsBeforeDash,
  usageError,
}: Pick<Invocation, "args" | "argsBeforeDash" | "usageError">): string {
  const count = argsBeforeDash === -1 ? args.length : argsBeforeDash
  if (count !== 1) throw usageError(`exactly one NAME is required, got ${count}`)
  return args[0]!
}

async function generate<F extends Flags>(
  definition: Generator<F>,
  name: string,
  invocation: Invocation<F & CommonFlags>,
): Promise<void> {
  const { factory, args, out } = invocation
  const values = invocation.flags as FlagValues<CommonFlags>
  await factory.client()
  const dryRun = dryRunOf(values["dry-run"], factory.log)
  const { namespace, explicit } = await factory.namespace()
  const printer = await printerOf(values, withDryRun("created", dryRun), factory)
  const fieldValidation = fieldValidationOf(values.validate)
  const { apiVersion, kind, resource, clusterScoped = false } = definition
  const fields = await definition.make({
    name,
    namespace: explicit ? namespace : undefined,
    flags: invocation.flags,
    words: args.slice(1),
    invocation,
  })
  let object: Unstructured = { kind, apiVersion, ...fields }
  if (values["save-config"] && definition.ignoresSaveConfig !== true) object = annotated(object)
  if (dryRun !== "client") {
    const groupVersion = parseGroupVersion(apiVersion)
    const helper = new Helper(await factory.client(), {
      resource: { ...groupVersion, resource },
      kind: { ...groupVersion, kind },
      namespaced: !clusterScoped,
    })
    try {
      object = await helper.create(namespace, object, {
        fieldManager: values["field-manager"],
        fieldValidation,
        serverDryRun: dryRun === "server",
      })
    } catch (err) {
      throw definition.failure === undefined
        ? err
        : new Error(`${definition.failure} ${errorMessage(err)}`, { cause: err })
    }
  }
  await printer.print(dryRun === "client" ? typedObject(object) : await typedAnswer(object, values.output), out)
}

/** Keeps an object in its annotation in the order of its fields. Source: kubectl pkg/util/apply.go. */
export function annotated(object: Unstructured): Unstructured {
  const { ownerReferences, annotations, ...metadata } = object.metadata ?? {}
  const all = { ...annotations, [LAST_APPLIED]: `${goJson(object, { sorted: false })}\n` }
  return {
    ...object,
    metadata: { ...metadata, annotations: all, ...(ownerReferences === undefined ? {} : { ownerReferences }) },
  }
}

/** Returns metadata in the order of Go's fields, without those that are undefined or empty. */
export function metadataOf({
  name,
  namespace,
  labels,
  annotations,
  ownerReferences,
}: {
  readonly name: string
  readonly namespace?: string | undefined
  readonly labels?: Record<string, string>
  readonly annotations?: Record<string, string>
  readonly ownerReferences?: OwnerReference[]
}): ObjectMeta {
  return {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...filled("labels", labels),
    ...filled("annotations", annotations),
    ...(ownerReferences === undefined ? {} : { ownerReferences }),
  }
}

/** Returns an object with the field, if the field has something in it: what `omitempty` does. */
export const filled = <K extends string, V extends object | string | undefined>(
  field: K,
  value: V,
): Partial<Record<K, V>> =>
  value === undefined || value === "" || (typeof value === "object" && Object.keys(value).length === 0)
    ? {}
    : ({ [field]: value } as Record<K, V>)
