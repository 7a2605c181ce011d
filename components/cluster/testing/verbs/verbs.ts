import type { SimulatedContainer } from "../../../kubelet/runtime/simulated/containers/container.ts"
import type { Node } from "../../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { DeleteCallOptions } from "../../../../pkg/client/client.ts"
import { TestClusterError } from "../caller.ts"
import { drain, evictPod, setUnschedulable, type Draining, type DrainOptions } from "./drain.ts"
import type { Check, EventuallyOptions } from "./eventually.ts"
import { restart } from "./restart.ts"
import { listOptions, refOf, type Reference, type Selection } from "./selection.ts"
import type { TestClient } from "./test-client.ts"
import { conditionCheck, parseCondition, type WaitCondition } from "./wait-for.ts"

/** What the verbs need of a cluster. */
export interface Acting extends Draining {
  /** Lets everything happen that is due at this instant. */
  readonly settle: () => Promise<void>
  readonly eventually: (check: Check, options: EventuallyOptions) => Promise<void>
  /** Returns the result of `work`, and advances time meanwhile. */
  readonly ended: <T>(what: () => string, work: Promise<T>) => Promise<T>
}

/** The result of a command in a container. */
export interface ExecOutcome {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

/** The default of `kubectl wait --timeout`. */
const WAIT = "30s"

/** The commands of kubectl, with its names and behaviour. */
export abstract class KubectlVerbs {
  abstract readonly client: TestClient
  /** Returns the running container of a simulated pod; the first one by default. */
  abstract container(pod: Reference, name?: string): SimulatedContainer | undefined
  /** @internal Runs a public method; its error shows the line that called it. */
  protected abstract act<T>(work: (acting: Acting) => Promise<T>): Promise<T>

  /** Returns objects of a kind, of all namespaces by default. */
  list<T extends KubeObject>(resource: Resource<T>, selection: Selection = {}): Promise<readonly T[]> {
    return this.act(async ({ client }) => (await client.list(resource, listOptions(selection))).items)
  }

  /** Returns one object; a bare name is in the namespace `default`. @throws ApiError NotFound */
  get<T extends KubeObject>(resource: Resource<T>, ref: Reference): Promise<T> {
    return this.act(({ client }) => client.get(resource, ref))
  }

  /** Returns one object, or undefined when it does not exist. */
  find<T extends KubeObject>(resource: Resource<T>, ref: Reference): Promise<T | undefined> {
    return this.act(async ({ client }) => {
      const { name, namespace } = refOf(resource, ref)
      const only = { fieldSelector: `metadata.name=${name}`, ...(namespace === undefined ? {} : { namespace }) }
      return (await client.list(resource, only)).items[0]
    })
  }

  delete(resource: Resource, ref: Reference, options: DeleteCallOptions = {}): Promise<void> {
    return this.act(async ({ client, settle }) => {
      await client.delete(resource, ref, options)
      await settle()
    })
  }

  /** Sets the number of replicas of an object whose kind has the subresource `scale`. */
  scale(resource: Resource, ref: Reference, replicas: number): Promise<void> {
    return this.act(async ({ client, settle }) => {
      await client.patch(resource, ref, { type: "merge", body: { spec: { replicas } } }, { subresource: "scale" })
      await settle()
    })
  }

  /** Replaces all pods of a Deployment, DaemonSet or StatefulSet, as `kubectl rollout restart`. */
  restart<T extends KubeObject>(resource: Resource<T>, ref: Reference): Promise<T> {
    return this.act(async ({ client, clock, settle }) => {
      const restarted = await restart(resource, ref, client, clock)
      await settle()
      return restarted
    })
  }

  /** Stops the scheduler from placing further pods on a node. */
  cordon(node: Reference): Promise<Node> {
    return this.act(({ client }) => setUnschedulable(client, node, true))
  }
  /** Lets the scheduler place pods on a node again. */
  uncordon(node: Reference): Promise<Node> {
    return this.act(async ({ client, settle }) => {
      const uncordoned = await setUnschedulable(client, node, false)
      await settle()
      return uncordoned
    })
  }

  /** Evicts a pod if the disruption budgets allow it. @throws ApiError TooManyRequests when they do not */
  evict(pod: Reference, { gracePeriodSeconds }: { readonly gracePeriodSeconds?: number } = {}): Promise<void> {
    return this.act(async ({ client, settle }) => {
      await evictPod(client, refOf(Pod, pod), gracePeriodSeconds)
      await settle()
    })
  }

  /**
   * Cordons a node, evicts its pods as budgets allow and waits until they are gone, as `kubectl drain`. Pods of
   * DaemonSets stay. Returns the evicted pods.
   * @throws TestClusterError for pods that only an option allows to evict, or after `within`
   */
  drain(node: Reference, options: DrainOptions = {}): Promise<readonly Pod[]> {
    return this.act((acting) => drain(node, acting, options))
  }

  /**
   * Runs a command in a container of a simulated pod; the behaviour of its image answers. The first container by
   * default.
   */
  exec(pod: Reference, command: readonly string[], container?: string): Promise<ExecOutcome> {
    return this.act(async ({ ended }) => {
      const { name, namespace } = refOf(Pod, pod)
      const running = this.container(pod, container)
      if (running?.running !== true)
        throw new TestClusterError(
          `Cannot run ${JSON.stringify(command)} in pod ${namespace}/${name}: it has no such container that ` +
            "runs on a simulated node",
        )
      const { exitCode, stdout, stderr } = await ended(
        () => `exec waits for ${JSON.stringify(command)} in pod ${namespace}/${name}`,
        running.exec(command),
      )
      return { exitCode, stdout: new TextDecoder().decode(stdout), stderr: new TextDecoder().decode(stderr) }
    })
  }

  /**
   * Waits for one or several conditions one after the other, as `kubectl wait`. Returns the object.
   * @throws ApiError NotFound when the object does not exist at the beginning, unless for `create` or `delete`;
   * TestClusterError after `within` (30s by default)
   */
  waitFor(resource: Resource, ref: Reference, condition: "delete", options?: EventuallyOptions): Promise<void>
  waitFor<T extends KubeObject>(
    resource: Resource<T>,
    ref: Reference,
    condition: WaitCondition | readonly WaitCondition[],
    options?: EventuallyOptions,
  ): Promise<T>
  waitFor<T extends KubeObject>(
    resource: Resource<T>,
    ref: Reference,
    condition: WaitCondition | readonly WaitCondition[],
    { within = WAIT }: EventuallyOptions = {},
  ): Promise<T | void> {
    return this.act(async ({ client, eventually }) => {
      const conditions = typeof condition === "string" ? [condition] : condition
      for (const one of conditions) if (one !== "delete") parseCondition(one)
      let last: T | undefined
      for (const one of conditions) {
        const first =
          one === "create" || one === "delete" ? await this.find(resource, ref) : await client.get(resource, ref)
        const { check, seen } = conditionCheck(resource, ref, one, first, client)
        await eventually(check, { within })
        last = seen()
      }
      return last
    })
  }
}
