import { stringFlag } from "../../command/flag.ts"
import type { Factory } from "../../factory/factory.ts"
import type { Unstructured } from "../../rest/json.ts"
import { filled, generator, metadataOf, type ObjectFields } from "./generator.ts"
import { KUBECTL_SCHEME } from "../../resource/scheme-names.ts"

/** A CronJob, as far as a job is made of it. */
interface CronJob extends Unstructured {
  spec?: { jobTemplate?: { metadata?: Unstructured["metadata"]; spec?: JobSpec } }
}

interface JobSpec {
  template?: { metadata?: object; spec?: object }
  [field: string]: unknown
}

/** Source: kubectl pkg/cmd/create/create_job.go. */
export const createJobCommand = generator({
  use: "job NAME --image=image [--from=cronjob/name] -- [COMMAND] [args...]",
  short: "Create a job with the specified name",
  long: "Create a job with the specified name.",
  example: `
# Create a job
kubectl create job my-job --image=busybox

# Create a job with a command
kubectl create job my-job --image=busybox -- date

# Create a job of a cron job called "a-cronjob"
kubectl create job test-job --from=cronjob/a-cronjob`,
  flags: {
    image: stringFlag("", "The image to run."),
    from: stringFlag("", "What to make a job of; only a cron job can be named."),
  },
  apiVersion: "batch/v1",
  kind: "Job",
  resource: "jobs",
  failure: "failed to create job:",
  async make({ name, namespace, flags, words, invocation: { factory } }) {
    const { image, from } = flags
    if ((image === "") === (from === "")) throw new Error("either --image or --from must be specified")
    if (words.length > 0 && from !== "") throw new Error("cannot specify --from and command")
    if (image === "") return jobOf(await cronJob(factory, from), name, namespace)
    return {
      metadata: metadataOf({ name, namespace }),
      spec: { template: podTemplate(name, image, words, "Never") },
      status: {},
    }
  },
})

/** The template of a pod with one container. */
export const podTemplate = (name: string, image: string, words: readonly string[], restartPolicy: string): object => ({
  metadata: {},
  spec: {
    containers: [{ name, ...filled("image", image), ...filled("command", words), resources: {} }],
    restartPolicy,
  },
})

async function cronJob(factory: Factory, from: string): Promise<CronJob> {
  const { namespace } = await factory.namespace()
  const result = await factory.build({
    args: [from],
    scheme: KUBECTL_SCHEME,
    namespace,
    defaultNamespace: true,
    flatten: true,
    latest: true,
  })
  const infos = await result.infos()
  if (infos.length !== 1) throw new Error("from must be an existing cronjob")
  const { loaded, mapping } = infos[0]!
  const { group, version, kind } = mapping.kind
  if (group !== "batch" || kind !== "CronJob") throw new Error(`unknown object type *${version}.${kind}`)
  return loaded as CronJob
}

function jobOf({ metadata, spec }: CronJob, name: string, namespace: string | undefined): ObjectFields {
  const { metadata: own, spec: job = {} } = spec?.jobTemplate ?? {}
  return {
    metadata: metadataOf({
      name,
      namespace,
      labels: own?.labels ?? {},
      annotations: { "cronjob.kubernetes.io/instantiate": "manual", ...own?.annotations },
      ownerReferences: [
        {
          apiVersion: "batch/v1",
          kind: "CronJob",
          name: metadata?.name ?? "",
          uid: metadata?.uid ?? "",
          controller: true,
        },
      ],
    }),
    spec: { ...job, template: { ...job.template, metadata: job.template?.metadata ?? {} } },
    status: {},
  }
}
