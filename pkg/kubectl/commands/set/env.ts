import { goQuoted } from "../../../apimachinery/go/go-text.ts"
import { command, type Invocation } from "../../command/command.ts"
import { boolFlag, stringArrayFlag, stringFlag, stringSliceFlag } from "../../command/flag.ts"
import { selectorFlag } from "../../command/shared-flags.ts"
import type { Container } from "../../polymorphic/pod.ts"
import { begin } from "./begin.ts"
import { changeAll, found, LOCAL_AND_SERVER, setFlags } from "./change.ts"
import { changedVariables, parseVariables, splitArgs, type Variable } from "./environment.ts"
import { listVariables } from "./list-env.ts"
import { matchesPattern, withPodSpec } from "./pod-templates.ts"
import { Resolver } from "./resolve.ts"

const flags = {
  ...setFlags(),
  ...selectorFlag(),
  containers: stringFlag("*", "The names of the containers to change, with wildcards", { shorthand: "c" }),
  from: stringFlag("", "The config map or secret whose keys become variables"),
  prefix: stringFlag("", "What is put before the names of variables"),
  env: stringArrayFlag([], "A variable NAME=value for each container.", { shorthand: "e" }),
  keys: stringSliceFlag([], "The keys to take of the resource, between commas"),
  list: boolFlag(false, "If true, print the variables with their changes, and change nothing."),
  resolve: boolFlag(false, "If true, print the values of secrets, config maps and fields that variables refer to."),
  overwrite: boolFlag(true, "If true, replace variables that are there already; otherwise that is an error."),
}

type EnvInvocation = Invocation<typeof flags>

/** Source: kubectl pkg/cmd/set/set_env.go. */
export const setEnvCommand = command({
  use: "env RESOURCE/NAME KEY_1=VAL_1 ... KEY_N=VAL_N",
  noFlagsInUse: true,
  short: "Update environment variables on a pod template",
  long: `
List, add, change, and remove environment variables of pods and of objects that have a pod template, in all containers or in some.

 With "--env -", or "-" as an argument, variables are read from the lines of the input, NAME=value.`,
  example: `
# Set a variable in the deployment 'registry'
kubectl set env deployment/registry STORAGE_DIR=/local

# List the variables of the deployment 'sample-build'
kubectl set env deployment/sample-build --list

# List the variables of all pods
kubectl set env pods --all --list

# Set variables of all keys of a secret
kubectl set env --from=secret/mysecret deployment/myapp

# Set variables of two keys of a config map, with a prefix
kubectl set env --from=configmap/myconfigmap --keys=a,b --prefix=MYSQL_ deployment/myapp

# Remove the variable ENV from the container 'c1' of all deployments
kubectl set env deployments --all --containers="c1" ENV-`,
  flags,
  async run(invocation) {
    const { flags: values, args, factory, environment, out, errOut } = invocation
    if (values.all && values.selector !== "") throw new Error("cannot set --all and --selector at the same time")
    const split = splitArgs(args)
    if (split === undefined)
      throw new Error(`all resources must be specified before environment changes: ${args.join(" ")}`)
    const { resources, specs } = split
    const { dryRun, printer } = await begin(invocation, values, "env updated")
    await factory.client()
    if (values.local && dryRun === "server") throw new Error(LOCAL_AND_SERVER)
    if (values.filename.length === 0 && resources.length === 0)
      throw new Error("one or more resources must be specified as <resource> <name> or <resource>/<name>")
    if (values.list && values.output !== "") throw new Error("--list and --output may not be specified together")
    if (values.keys.length > 0 && values.from === "")
      throw new Error("when specifying --keys, a configmap or secret must be provided with --from")
    const given = await parseVariables([...values.env, ...specs], async () => {
      const decoder = new TextDecoder()
      let text = ""
      for await (const part of environment.stdin) text += decoder.decode(part, { stream: true })
      return text
    })
    const stdinInUse = given.readsInput
    const from = values.from === "" ? [] : await variablesFrom(invocation, stdinInUse)
    const set = [...given.set, ...from].map((each) => ({ ...each, name: `${values.prefix}${each.name}` }))
    const result = await found(invocation, values, resources, { checksLocal: false, stdinInUse })
    const infos = await result.infos()
    const changed = (container: Container): Container => {
      if (!matchesPattern(container.name, values.containers)) return container
      const { env: _, ...others } = container
      const before = (container["env"] ?? []) as readonly Variable[]
      if (!values.overwrite) checkNew(before, set)
      const env = changedVariables(before, { set, remove: given.remove })
      return env.length === 0 ? (others as Container) : { ...container, env }
    }
    await changeAll(invocation, values, values.list ? [] : infos, {
      printer,
      dryRun,
      failure: "failed to patch env update to pod template:",
      change: (object) => withPodSpec(object, (spec) => inContainers(invocation, object, spec, changed)),
      check() {
        if (set.length === 0 && specs.length === 0)
          throw new Error("at least one environment variable must be provided")
      },
    })
    const { namespace } = await factory.namespace()
    if (values.list)
      for (const { loaded: object } of infos) {
        const listed: Container[] = []
        withPodSpec(object, (spec) => {
          inContainers(invocation, object, spec, (container) => container)
          for (const container of [...(spec.containers ?? []), ...(spec.initContainers ?? [])])
            if (matchesPattern(container.name, values.containers)) listed.push(changed(container))
          return spec
        })
        for (const container of listed) {
          const resolver = values.resolve ? new Resolver(() => factory.client(), namespace) : undefined
          await listVariables(object, container, { out, errOut, resolver })
        }
      }
  },
})

/** Returns a spec with its containers changed; says so where none is meant. */
function inContainers<S extends { containers: Container[]; initContainers?: Container[] }>(
  { flags: values, factory }: EnvInvocation,
  { kind, metadata }: { readonly kind?: string; readonly metadata?: { readonly name?: string } },
  spec: S,
  change: (container: Container) => Container,
): S {
  const all = [...(spec.containers ?? []), ...(spec.initContainers ?? [])]
  if (!all.some(({ name }) => matchesPattern(name, values.containers))) {
    const pattern = goQuoted(values.containers)
    factory.warnings.print(`${kind}/${metadata?.name ?? ""} does not have any containers matching ${pattern}`)
    return spec
  }
  return {
    ...spec,
    containers: spec.containers.map(change),
    ...(spec.initContainers === undefined ? {} : { initContainers: spec.initContainers.map(change) }),
  }
}

function checkNew(before: readonly Variable[], set: readonly Variable[]): void {
  for (const { name, value = "" } of set) {
    const old = before.find((each) => each.name === name)
    if (old !== undefined && (old.value ?? "") !== value)
      throw new Error(`'${name}' already has a value (${old.value ?? ""}), and --overwrite is false`)
  }
}

/** Makes variables of the keys of a config map or secret. */
async function variablesFrom(invocation: EnvInvocation, stdinInUse: boolean): Promise<readonly Variable[]> {
  const { flags: values, factory } = invocation
  const infos = await (await found(invocation, values, [values.from], { checksLocal: false, stdinInUse })).infos()
  return infos.flatMap(({ loaded: { kind, metadata, ...object } }) => {
    if (kind !== "Secret" && kind !== "ConfigMap") throw new Error("unsupported resource specified in --from")
    const keys = Object.keys((object["data"] ?? {}) as object)
    return keys
      .filter((key) => values.keys.length === 0 || values.keys.includes(key))
      .map((key) => {
        const name = key.replace(/[^a-zA-Z0-9_]/g, "_").toUpperCase()
        if (name !== key) factory.warnings.print(`key ${key} transferred to ${name}`)
        const reference = { key, name: metadata?.name }
        return { name, valueFrom: kind === "Secret" ? { secretKeyRef: reference } : { configMapKeyRef: reference } }
      })
  })
}
