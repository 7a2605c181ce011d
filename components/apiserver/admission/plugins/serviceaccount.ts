import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { ServiceAccount } from "../../../../pkg/api/core/v1/serviceaccount.ts"
import { forbidden } from "../../../../pkg/apimachinery/errors.ts"
import { nameSuffix, seededRandom, type Random } from "../../../../pkg/clock/random.ts"
import { refersToSecrets } from "../../../../pkg/pods/api-references.ts"
import { storageKey } from "../../cacher/view.ts"
import { on, type AdmissionPlugin } from "../admission.ts"
import type { AdmissionContext } from "../context.ts"
import { isMirror } from "./pods.ts"

const DEFAULT_NAME = "default"
/**
 * How many milliseconds the creation of a pod waits for the ServiceAccount, since the `default` account is created a
 * little after its namespace. Source: admission.go getServiceAccount.
 */
const WAIT_MS = 1000
export const TOKEN_MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
/**
 * An hour and seven seconds: the odd seconds mark tokens that this plugin requested. Source: pkg/serviceaccount
 * WarnOnlyBoundTokenExpirationPeriod.
 */
const TOKEN_SECONDS = 3607
const FILE_MODE = 0o644

/**
 * Gives every pod a service account, and mounts a token of it unless the pod or the account forbids that. Source:
 * plugin/pkg/admission/serviceaccount.
 */
export function serviceAccount(context: AdmissionContext): AdmissionPlugin {
  const find = (namespace: string, name: string) => context.objects.get(ServiceAccount, { namespace, name })
  return on(Pod, {
    name: "ServiceAccount",
    operations: ["CREATE"],
    admit(attributes) {
      const { object: pod } = attributes
      if (isMirror(pod)) return undefined
      const { namespace = "", name: podName } = attributes
      const name = pod.spec.serviceAccountName || DEFAULT_NAME
      const finish = (account: ServiceAccount | undefined) => {
        if (account === undefined)
          throw forbidden(
            attributes.resource,
            podName,
            `error looking up service account ${namespace}/${name}: serviceaccount ${JSON.stringify(name)} not found`,
          )
        return withAccount(pod, account, () => `kube-api-access-${volumeSuffix(pod, context.random)}`)
      }
      const account = find(namespace, name)
      if (account !== undefined || name !== DEFAULT_NAME) return finish(account)
      return whenThere(context, namespace, name).then(() => finish(find(namespace, name)))
    },
    validate({ object: pod, resource, name }) {
      const why = isMirror(pod) ? whyNoMirror(pod) : undefined
      if (why !== undefined) throw forbidden(resource, name, why)
    },
  })
}

/**
 * Returns why a pod is no mirror pod: it would give the node that it names the right to read what it refers to.
 * Source: admission.go Validate.
 */
function whyNoMirror({ spec }: Pod): string | undefined {
  if ((spec.serviceAccountName ?? "") !== "") return "a mirror pod may not reference service accounts"
  if (refersToSecrets(spec)) return "a mirror pod may not reference secrets"
  return undefined // a volume with a token is invalid without a service account
}

/**
 * Returns the random part of the volume's name. It is the same for all pods of one controller, so that these can share
 * their spec: of a pod that is half a kilobyte. Differs from upstream, where each pod has its own.
 */
function volumeSuffix({ metadata: { ownerReferences } }: Pod, random: Random): string {
  const owner = ownerReferences?.find(({ controller }) => controller === true)?.uid
  return owner === undefined ? nameSuffix(random) : nameSuffix(seededRandom(Number.parseInt(owner, 16)))
}

/** Resolves when the account exists, or after WAIT_MS. */
function whenThere({ storage, clock }: AdmissionContext, namespace: string, name: string): Promise<void> {
  const key = storageKey(ServiceAccount, { namespace, name })
  return new Promise((resolve) => {
    const done = () => {
      timer.cancel()
      unsubscribe()
      resolve()
    }
    const timer = clock.setTimeout(done, WAIT_MS)
    const unsubscribe = storage.subscribe(
      (events) => {
        if (events.some((event) => event.key === key)) done()
      },
      [key],
    )
  })
}

function withAccount(
  pod: Pod,
  { metadata, automountServiceAccountToken, imagePullSecrets = [] }: ServiceAccount,
  newVolumeName: () => string,
): Pod {
  const name = metadata.name!
  const spec = { ...pod.spec, serviceAccountName: name, serviceAccount: name }
  const withSecrets =
    (spec.imagePullSecrets ?? []).length === 0 && imagePullSecrets.length > 0 ? { ...spec, imagePullSecrets } : spec
  const wanted = spec.automountServiceAccountToken ?? automountServiceAccountToken ?? true
  return { ...pod, spec: wanted ? withToken({ ...pod, spec: withSecrets }, newVolumeName) : withSecrets }
}

/** All pods share this one value, which saves some 10 MB with 20,000 pods. */
const TOKEN_SOURCES = {
  defaultMode: FILE_MODE,
  sources: [
    { serviceAccountToken: { expirationSeconds: TOKEN_SECONDS, path: "token" } },
    { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
    {
      downwardAPI: { items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }] },
    },
  ],
} as const

/**
 * Adds one projected volume with token, cluster CA and namespace, and mounts it in each container that has no other
 * mount at that path.
 */
function withToken(pod: Pod, newVolumeName: () => string): Pod["spec"] {
  const { spec } = pod
  const { containers = [], initContainers } = spec as Partial<Pod["spec"]>
  if (!containers.some(lacksToken) && initContainers?.some(lacksToken) !== true) return spec
  const name = newVolumeName()
  const mounted = (list: Pod["spec"]["containers"]) =>
    list.map((container) =>
      lacksToken(container)
        ? {
            ...container,
            volumeMounts: [...(container.volumeMounts ?? []), { name, readOnly: true, mountPath: TOKEN_MOUNT_PATH }],
          }
        : container,
    )
  const made = {
    ...spec,
    volumes: [...(spec.volumes ?? []), { name, projected: TOKEN_SOURCES }],
    containers: mounted(containers),
  }
  return initContainers === undefined ? made : { ...made, initContainers: mounted(initContainers) }
}

const lacksToken = ({ volumeMounts }: Pod["spec"]["containers"][number]): boolean =>
  volumeMounts?.some(({ mountPath }) => mountPath === TOKEN_MOUNT_PATH) !== true
