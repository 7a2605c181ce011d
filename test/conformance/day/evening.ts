/** The evening: users delete everything. */
import { CronJob } from "../../../pkg/api/batch/v1/cronjob.ts"
import { DaemonSet } from "../../../pkg/api/apps/v1/daemonset.ts"
import { Deployment } from "../../../pkg/api/apps/v1/deployment.ts"
import { HorizontalPodAutoscaler } from "../../../pkg/api/autoscaling/v2/horizontalpodautoscaler.ts"
import { Job } from "../../../pkg/api/batch/v1/job.ts"
import { Namespace } from "../../../pkg/api/core/v1/namespace.ts"
import { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { PodDisruptionBudget } from "../../../pkg/api/policy/v1/poddisruptionbudget.ts"
import { ReplicaSet } from "../../../pkg/api/apps/v1/replicaset.ts"
import { ReplicationController } from "../../../pkg/api/core/v1/replicationcontroller.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { ServiceAccount } from "../../../pkg/api/core/v1/serviceaccount.ts"
import { ServiceCIDR } from "../../../pkg/api/networking/v1/servicecidr.ts"
import { StatefulSet } from "../../../pkg/api/apps/v1/statefulset.ts"
import { ValidatingAdmissionPolicy } from "../../../pkg/api/admissionregistration/v1/validatingadmissionpolicy.ts"
import { VolumeAttributesClass } from "../../../pkg/api/storage/v1/volumeattributesclass.ts"
import { remove, type Step } from "./step.ts"

export const EVENING: readonly Step[] = [
  {
    title: "A namespace is deleted with all that is in it",
    seconds: 15,
    run: async (users) => void (await remove(users, Namespace, "team")),
  },
  {
    title: "Owners are deleted in all three ways",
    seconds: 25,
    async run(users) {
      await remove(users, Deployment, "web", { propagationPolicy: "Foreground" })
      await remove(users, Deployment, "recreated", { propagationPolicy: "Background" })
      await remove(users, Deployment, "stuck", { propagationPolicy: "Orphan" })
      await remove(users, ReplicaSet, "set", { propagationPolicy: "Orphan" })
      await remove(users, DaemonSet, "agent", { propagationPolicy: "Foreground" })
      await remove(users, StatefulSet, "many", { propagationPolicy: "Orphan" })
      await remove(users, StatefulSet, "db", { propagationPolicy: "Background" })
      await remove(users, ReplicationController, "old", { propagationPolicy: "Background" })
    },
  },
  {
    title: "Jobs and the CronJob are deleted",
    seconds: 10,
    async run(users) {
      await remove(users, CronJob, "often", { propagationPolicy: "Background" })
      await remove(users, Job, "once", { propagationPolicy: "Foreground" })
      await remove(users, Job, "indexed", { propagationPolicy: "Orphan" })
      await remove(users, Job, "failing", { propagationPolicy: "Background" })
    },
  },
  {
    title: "Claims and volumes in use are deleted",
    seconds: 10,
    async run(users) {
      await remove(users, PersistentVolumeClaim, "disk")
      await remove(users, PersistentVolume, "returned")
      await remove(users, PersistentVolumeClaim, "asked")
    },
  },
  {
    title: "Nothing uses them any more",
    seconds: 10,
    async run(users) {
      for (const name of ["disk", "late", "scratch", "device"]) await remove(users, Pod, name)
      await remove(users, PersistentVolumeClaim, "returned")
      await remove(users, PersistentVolumeClaim, "late")
      await remove(users, PersistentVolumeClaim, "waiting")
    },
  },
  {
    title: "Services, accounts, budgets and the rest are deleted",
    seconds: 15,
    async run(users) {
      for (const name of ["web", "headless", "elsewhere", "outside", "nothing"]) await remove(users, Service, name)
      await remove(users, ServiceAccount, "robot")
      await remove(users, ServiceAccount, "default")
      await remove(users, PodDisruptionBudget, "web")
      await remove(users, HorizontalPodAutoscaler, "web")
      await remove(users, ValidatingAdmissionPolicy, "bad")
      await remove(users, ServiceCIDR, "more")
      await remove(users, VolumeAttributesClass, "fast")
    },
  },
]
