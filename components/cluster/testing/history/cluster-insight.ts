import type { SimulatedContainer } from "../../../kubelet/runtime/simulated/containers/container.ts"
import type { SimulatedRuntime } from "../../../kubelet/runtime/simulated/simulated-runtime.ts"
import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { deepFreeze } from "../../../../pkg/apimachinery/json/deep-freeze.ts"
import type { NodeConnector } from "../../../../pkg/component/node-connector.ts"
import { at, callerOf } from "../caller.ts"
import { noSuchNode } from "../faults/no-such.ts"
import { checkKind } from "../faults/known-requests.ts"
import { ClusterTime } from "../time/cluster-time.ts"
import { tracesOf, type Trace } from "./traces.ts"
import { readLogs, type LogsOptions } from "../verbs/logs.ts"
import { refOf, type Reference } from "../verbs/selection.ts"
import { makeReport, type Report } from "../report/report.ts"
import type { ReportFile } from "../report/report-files.ts"
import type { ClusterWhy, Why } from "./why.ts"
import { historyOf, type HistoryEntry, type HistoryFilter } from "./history.ts"

/** What a test sees of a cluster beside its API: what has happened and why, and what is on the simulated machines. */
export abstract class ClusterInsight extends ClusterTime {
  /** Returns every revision of every object, oldest first, with its author and time. */
  history(filter: HistoryFilter = {}): readonly HistoryEntry[] {
    const { assembly, storage, authorOf, frozen } = this.parts
    if (filter.kind !== undefined) checkKind(filter.kind, assembly.apiServer.scheme.resources)
    const entries = historyOf(storage, filter, authorOf)
    return frozen === "none" ? entries : deepFreeze(entries)
  }

  /** Returns why a pod is not well: `why` of a pod, which must exist. */
  explain(pod: Reference): Promise<Why> {
    return this.called(async () => {
      const { metadata } = await this.client.get(Pod, pod)
      const { whyOf } = await import("./why.ts")
      return whyOf(this.parts, `pod/${metadata.name}`, metadata.namespace ?? "")
    })
  }

  /**
   * Returns why an object is not well, as `k3ts why` tells it: the chain to the cause, what shows it, and what mends
   * it. The object is named as KIND/NAME, `deployment/web`, in `default` unless `namespace` says otherwise. Without an
   * object all that is unwell in the cluster.
   */
  why(): Promise<ClusterWhy>
  why(object: string, options?: { readonly namespace?: string }): Promise<Why>
  why(object?: string, { namespace = "default" }: { readonly namespace?: string } = {}): Promise<Why | ClusterWhy> {
    return this.called(async () => {
      const { whyOf, whyOfAll } = await import("./why.ts")
      return object === undefined ? whyOfAll(this.parts) : whyOf(this.parts, object, namespace)
    })
  }

  /**
   * Returns what is wrong now and how it came to it: a timeline of changes, Events, containers, faults, failed requests
   * and errors of the test's controllers. In 60 lines as a string, and whole in `whole` and in a file, if there is a
   * folder: this one, that of the option `reports` or of K3TS_REPORTS.
   */
  report({ folder }: { readonly folder?: string } = {}): Report {
    return makeReport(this.parts, (whole) => this.reportFile.write(whole, folder))
  }

  /** @internal */
  protected abstract readonly reportFile: ReportFile

  /**
   * Returns what the requests so far have caused, each request of the test and each thing that the cluster did by
   * itself as a trace. Needs `startCluster({ tracing: true })`.
   */
  traces(): readonly Trace[] {
    this.alive()
    return tracesOf(this.parts.traces)
  }

  /**
   * Returns what a container has written so far, as `kubectl logs`; the first container of the pod by default.
   * @throws ApiError of the kubelet, for example when there was no previous run
   */
  logs(pod: Reference, options: string | LogsOptions = {}): Promise<string> {
    return this.called(async () => {
      const found = await this.client.get(Pod, pod)
      return readLogs(this.parts, found, typeof options === "string" ? { container: options } : options)
    })
  }

  /** Returns the running container of a simulated pod, to inspect or disturb it; the first one by default. */
  container(pod: Reference, name?: string): SimulatedContainer | undefined {
    this.alive()
    const { name: podName = "", namespace = "" } = refOf(Pod, pod)
    const found = this.parts.storage.get(`${Pod.prefix}${namespace}/${podName}`)?.object as Pod | undefined
    return found === undefined ? undefined : this.parts.nodes.containerOf(found, name)
  }

  /** Returns the simulated machine of a node: its files, images and containers. */
  machine(node: string): SimulatedRuntime {
    this.alive()
    const found = this.parts.nodes.simulated.get(node)
    if (found === undefined) throw at(callerOf(), noSuchNode(node, this.parts.nodes.simulated))
    return found.runtime
  }

  /**
   * @internal Returns what the API server uses for logs, exec, port forwarding and the kubelet's own paths. Undefined
   * while no kubelet runs on the node.
   */
  connector(node: string): NodeConnector | undefined {
    this.alive()
    return this.parts.assembly.connectors.get(node)
  }
}
