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
  /** Lets everything that is due at this instant happen. */
  readonly settle: () => Promise<void>
  readonly eventually: (check: Check, options: EventuallyOptions) => Promise<void>
  /** What `work` gives, for which time goes on meanwhile. */
  readonly ended: <T>(what: () => string, work: Promise<T>) => Promise<T>
}

/** What a program in a container answered. */
export interface ExecOutcome {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

/** As `kubectl wait --timeout`. */
const WAIT = "30s"

/** What people do with kubectl, in the words and with the behaviour of its commands. */
export abstract class KubectlVerbs {
  abstract readonly client: TestClient
  /** The running container of a simulated pod; its first one unless named. */
  abstract container(pod: Reference, name?: string): SimulatedContainer | undefined
  /** `work` of a public method, whose failure is shown at the line that called it. */
  protected abstract act<T>(work: (acting: Acting) => Promise<T>): Promise<T>

  /** Objects of a kind, of all namespaces unless one is given. */
  list<T extends KubeObject>(resource: Resource<T>, selection: Selection = {}): Promise<readonly T[]> {
    return this.act(async ({ client }) => (await client.list(resource, listOptions(selection))).items)
  }

  /** One object; a bare name is one of the namespace `default`. @throws ApiError NotFound */
  get<T extends KubeObject>(resource: Resource<T>, ref: Reference): Promise<T> {
    return this.act(({ client }) => client.get(resource, ref))
  }

  /** The same, or undefined when there is none. */
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

  /** Sets how many replicas there are to be, of any kind with the subresource `scale`. */
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

  /** Places no further pods on a node. */
  cordon(node: Reference): Promise<Node> {
    return this.act(({ client }) => setUnschedulable(client, node, true))
  }
  /** Places pods on a node again. */
  uncordon(node: Reference): Promise<Node> {
    return this.act(async ({ client, settle }) => {
      const uncordoned = await setUnschedulable(client, node, false)
      await settle()
      return uncordoned
    })
  }

  /** Deletes a pod if the disruption budgets allow it. @throws ApiError TooManyRequests when they do not */
  evict(pod: Reference, { gracePeriodSeconds }: { readonly gracePeriodSeconds?: number } = {}): Promise<void> {
    return this.act(async ({ client, settle }) => {
      await evictPod(client, refOf(Pod, pod), gracePeriodSeconds)
      await settle()
    })
  }

  /**
   * Cordons a node, evicts its pods as budgets allow and waits until they are gone, as `kubectl drain`. Pods of
   * DaemonSets stay. Gives the pods that went.
   * @throws TestClusterError where there are pods that only an option allows to evict, or after `within`
   */
  drain(node: Reference, options: DrainOptions = {}): Promise<readonly Pod[]> {
    return this.act((acting) => drain(node, acting, options))
  }

  /** Runs a command in a container of a simulated pod, which its image answers; its first container unless named. */
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
   * Waits for a condition, or several one after another, as `kubectl wait`. Gives the object.
   * @throws ApiError NotFound for an object that is not there when waiting begins, unless for `create` or `delete`;
   * TestClusterError after `within` (30s unless given)
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
