import { Buffer } from "node:buffer"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import type { EnvVarSource } from "../../../pkg/api/core/v1/container/env.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import type { KubeletContext } from "../context.ts"
import type { AnyContainer } from "../model/containers.ts"
import { isStaticPod } from "../model/labels.ts"
import { podField } from "../downwardapi/pod-fields.ts"
import { nodeAmounts, resourceField } from "../downwardapi/resource-fields.ts"
import { configError, StartError } from "../model/start-error.ts"
import type { MountedVolumes } from "../model/mounted-volume.ts"
import { valueOfBytes, type EnvironmentValue, type EnvironmentVariable } from "../model/environment-variable.ts"
import { valueInEnvFile } from "./env-file.ts"
import { expand, ExpansionError } from "./expansion.ts"
import { MAX_ARGUMENT_BYTES, ProgramBudget, tooLongVariable } from "./program-limits.ts"
import { serviceVariables } from "./service-links.ts"

export interface EnvironmentRequest {
  readonly pod: Pod
  readonly container: AnyContainer
  /** Addresses of the pod, the primary one first; empty before the sandbox has one. */
  readonly podIps: readonly string[]
  readonly hostIps: readonly string[]
  /** The mounted volumes, for fileKeyRef. */
  readonly mounted: MountedVolumes
}

/** Computes the environment variables of containers. */
export interface Environment {
  /**
   * Returns every variable of the container, expanded, in the order for the runtime: service links, envFrom, env.
   * @throws StartError CreateContainerConfigError when a ConfigMap, Secret or key is missing and not optional, or when
   * the variables are longer than a program can get
   */
  of(request: EnvironmentRequest): Promise<readonly EnvironmentVariable[]>
}

/** The variables of services, by name and as a list. */
interface Links {
  readonly links: ReadonlyMap<string, EnvironmentValue>
  readonly variables: readonly EnvironmentVariable[]
}

/** Creates the environment of containers. Source: makeEnvironmentVariables in pkg/kubelet/kubelet_pods.go. */
export function createEnvironment(context: KubeletContext): Environment {
  // The informer starts early, so that the services are known when the first container starts.
  const services = context.informers.of(Service)
  let linked: { readonly services: readonly Service[]; readonly links: Map<string, Links> } = {
    services: [],
    links: new Map(),
  }

  // A later variable with the same name replaces the value of an earlier one, and keeps its place.
  async function of(request: EnvironmentRequest) {
    const { pod, container } = request
    // A static pod may have to start before the API server does.
    if (!isStaticPod(pod)) await services.whenSynced()
    const { links, variables } = linksFor(pod)
    const sources = new Sources(context, request)
    const own = new Map<string, EnvironmentValue>()
    const budget = new ProgramBudget()
    const set = (name: string, value: EnvironmentValue) => {
      budget.variable(name, value)
      own.set(name, value)
    }
    for (const { prefix = "", configMapRef, secretRef } of container.envFrom ?? []) {
      const values =
        configMapRef !== undefined
          ? await sources.configMap(configMapRef.name, configMapRef.optional)
          : secretRef !== undefined
            ? await sources.secret(secretRef.name, secretRef.optional)
            : undefined
      for (const key of Object.keys(values ?? {}).sort()) set(prefix + key, values![key]!)
    }
    for (const { name, value = "", valueFrom } of container.env ?? []) {
      const found =
        value !== "" || valueFrom === undefined
          ? expandVariable(name, value, (key) => own.get(key) ?? links.get(key))
          : await sources.value(valueFrom)
      if (found !== undefined) set(name, found)
    }
    return own.size === 0 ? variables : [...new Map([...links, ...own])].map(([key, value]) => ({ key, value }))
  }

  /** Returns the variables of services for all pods of a namespace; cached until a service changes. */
  function linksFor({ metadata: { namespace = "" }, spec: { enableServiceLinks } }: Pod): Links {
    const all = services.list()
    if (all !== linked.services) linked = { services: all, links: new Map() }
    const wanted = enableServiceLinks !== false
    const key = `${namespace} ${wanted}`
    let found = linked.links.get(key)
    if (found === undefined) {
      const variables = serviceVariables(all, namespace, wanted)
      linked.links.set(
        key,
        (found = { links: new Map(variables.map((variable) => [variable.key, variable.value])), variables }),
      )
    }
    return found
  }

  return {
    of: async (request) => {
      try {
        return await of(request)
      } catch (err) {
        throw err instanceof StartError ? err : configError(errorMessage(err), err)
      }
    },
  }
}

function expandVariable(
  name: string,
  value: string,
  valueOf: (name: string) => EnvironmentValue | undefined,
): EnvironmentValue {
  try {
    return expand(value, valueOf, MAX_ARGUMENT_BYTES)
  } catch (err) {
    throw err instanceof ExpansionError ? tooLongVariable(name) : err
  }
}

type Values = Readonly<Record<string, EnvironmentValue>>

/** Reads the values for one container. Each object is read once, so that all variables show the same state of it. */
class Sources {
  readonly #context: KubeletContext
  readonly #request: EnvironmentRequest
  readonly #read = new Map<string, Promise<Values | undefined>>()

  constructor(context: KubeletContext, request: EnvironmentRequest) {
    this.#context = context
    this.#request = request
  }

  /** Returns the text values of a ConfigMap; undefined when it is missing and optional. */
  configMap(name: string, optional: boolean | undefined): Promise<Values | undefined> {
    return this.#object(ConfigMap, "configmap", name, optional, ({ data = {} }) => data)
  }

  secret(name: string, optional: boolean | undefined): Promise<Values | undefined> {
    return this.#object(Secret, "secret", name, optional, ({ data = {} }) =>
      Object.fromEntries(Object.entries(data).map(([key, value]) => [key, valueOfBytes(Buffer.from(value, "base64"))])),
    )
  }

  /** Returns undefined for a variable that is not set: its source is missing and optional. */
  async value({
    fieldRef,
    resourceFieldRef,
    configMapKeyRef,
    secretKeyRef,
    fileKeyRef,
  }: EnvVarSource): Promise<EnvironmentValue | undefined> {
    const { pod, container } = this.#request
    if (fieldRef !== undefined) return podField(pod, fieldRef.fieldPath, this.#request)
    if (resourceFieldRef !== undefined)
      return resourceField(pod, resourceFieldRef, await nodeAmounts(this.#context), container)
    if (configMapKeyRef !== undefined)
      return this.#key(
        "ConfigMap",
        configMapKeyRef,
        await this.configMap(configMapKeyRef.name, configMapKeyRef.optional),
      )
    if (secretKeyRef !== undefined)
      return this.#key("Secret", secretKeyRef, await this.secret(secretKeyRef.name, secretKeyRef.optional))
    if (fileKeyRef !== undefined) return this.#fileKey(fileKeyRef)
    return ""
  }

  #key(
    kind: string,
    { name, key, optional }: { readonly name: string; readonly key: string; readonly optional?: boolean | undefined },
    values: Values | undefined,
  ): EnvironmentValue | undefined {
    if (values === undefined) return undefined
    if (Object.hasOwn(values, key)) return values[key]
    if (optional === true) return undefined
    throw configError(`couldn't find key ${key} in ${kind} ${this.#request.pod.metadata.namespace ?? ""}/${name}`)
  }

  async #fileKey({
    volumeName,
    path,
    key,
    optional,
  }: NonNullable<EnvVarSource["fileKeyRef"]>): Promise<EnvironmentValue | undefined> {
    const volume = this.#request.mounted.get(volumeName)
    if (volume === undefined)
      throw configError(`cannot find the volume ${JSON.stringify(volumeName)} referenced by FileKeyRef`)
    const value = await this.#valueInFile(volume.hostPath, path, key)
    if (value === undefined && optional !== true) throw configError("couldn't parse env file")
    if (value !== undefined && value !== "") return value
    if (optional === true) return undefined
    throw configError(
      `environment variable key ${JSON.stringify(key)} not found in file ${JSON.stringify(path)} of volume ` +
        `${JSON.stringify(volumeName)}`,
    )
  }

  /**
   * Returns undefined when the file does not exist. Its faults go to the node's log, because they may contain text of
   * the container.
   */
  async #valueInFile(volume: string, path: string, key: string): Promise<EnvironmentValue | undefined> {
    const { runtime, log } = this.#context
    try {
      const file = await runtime.volumes.openInside(volume, path)
      if (file === undefined) return undefined
      try {
        return await valueInEnvFile(file, key)
      } finally {
        await file.close()
      }
    } catch (err) {
      const { namespace, name } = this.#request.pod.metadata
      log.warn("Failed to read the environment file of a container", { pod: `${namespace}/${name}`, err })
      throw configError("couldn't parse env file", err)
    }
  }

  async #object<T extends KubeObject>(
    resource: Resource<T>,
    word: string,
    name: string,
    optional: boolean | undefined,
    valuesOf: (object: T) => Values,
  ): Promise<Values | undefined> {
    const id = `${word}/${name}`
    let reading = this.#read.get(id)
    if (reading === undefined) {
      reading = this.#context.client
        .get(resource, { namespace: this.#request.pod.metadata.namespace, name })
        .then(valuesOf, (err: unknown) => {
          if (isNotFound(err)) return undefined
          throw err
        })
      this.#read.set(id, reading)
    }
    const values = await reading
    if (values === undefined && optional !== true) throw configError(`${word} "${name}" not found`)
    return values
  }
}
