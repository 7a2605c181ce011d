import { RBAC_GROUP } from "../../../api/rbac/v1/rules.ts"
import { errorMessage } from "../../../errors/error-message.ts"
import { command, type Invocation } from "../../command/command.ts"
import { boolFlag } from "../../command/flag.ts"
import { dryRunFlag, dryRunOf, type DryRun, filenameFlags, filenameOptions } from "../../command/shared-flags.ts"
import { listText } from "../../describe/policy-rules.ts"
import { isAlreadyExists, isConflict, isNotFound } from "../../errors/status-error.ts"
import { printerOf, printFlags } from "../../printers/print-flags.ts"
import type { ResourcePrinter } from "../../printers/printer.ts"
import { typedForm } from "../../printers/typed-form.ts"
import { requireFiles } from "../../resource/resource-args.ts"
import { parseGroupVersion } from "../../rest/json.ts"
import { isRbacKind, RbacObjects, type BindingObject, type RoleObject } from "./rbac-objects.ts"
import { creationOf, reconciledBinding, reconciledRole, type Reconciliation } from "./reconciliation.ts"
import { KUBECTL_SCHEME } from "../../resource/scheme-names.ts"

const flags = {
  ...printFlags(),
  ...filenameFlags("with the resources to reconcile."),
  "remove-extra-permissions": boolFlag(false, "If true, remove permissions of roles that the files do not have"),
  "remove-extra-subjects": boolFlag(false, "If true, remove subjects of bindings that the files do not have"),
  ...dryRunFlag(),
}

type ReconcileInvocation = Invocation<typeof flags>
type RbacObject = RoleObject & BindingObject

/** How often an object is looked at again, that somebody else changes meanwhile. */
const MOST_CONFLICTS = 3
const MOST_ROLE_TRIES = 3
const MOST_BINDING_TRIES = 4

/** Source: kubectl pkg/cmd/auth/reconcile.go. */
export const reconcileCommand = command({
  use: "reconcile -f FILENAME",
  noFlagsInUse: true,
  short: "Reconciles rules for RBAC role, role binding, cluster role, and cluster role binding objects",
  long: `
Make roles, role bindings, cluster roles and cluster role bindings grant what files say.

 What is missing is created, and so is the namespace of an object where it is missing.

 Roles that are there get the permissions that they lack, and lose those of no file with --remove-extra-permissions.

 Bindings that are there get the subjects that they lack, and lose those of no file with --remove-extra-subjects.

 For these kinds this is better than 'apply', because rules and subjects are merged by what they mean.`,
  example: `
# Reconcile the resources of a file
kubectl auth reconcile -f my-rbac-rules.yaml`,
  flags,
  async run(invocation) {
    const { flags: values, args, factory } = invocation
    requireFiles(filenameOptions(values))
    if (args.length > 0) throw new Error("no arguments are allowed")
    const dryRun = dryRunFor(invocation)
    if (dryRun === "server") throw new Error("--dry-run=server for command reconcile is not supported yet")
    const { namespace, explicit } = await factory.namespace()
    const result = await factory.build({
      files: filenameOptions(values),
      scheme: KUBECTL_SCHEME,
      namespace,
      defaultNamespace: true,
      enforceNamespace: explicit,
      continueOnError: true,
      flatten: true,
      local: true,
      requireObject: false,
    })
    const objects = new RbacObjects(await factory.client())
    const printer = await printerOf(values, dryRun === "client" ? "reconciled (dry run)" : "reconciled", {
      readFile: (path) => factory.readFile(path),
    })
    await result.visit(async ({ loaded: object }) => {
      const { group, version } = parseGroupVersion(object.apiVersion ?? "")
      if (group !== RBAC_GROUP || !isRbacKind(object.kind)) return
      if (version !== "v1")
        throw new Error(`only rbac.authorization.k8s.io/v1 is supported: not *${version}.${object.kind}`)
      const reconciled = await untilNoConflict(() =>
        reconcile(objects, object as RbacObject, dryRun === "none", values),
      )
      await print(invocation, printer, reconciled)
    })
  },
})

function dryRunFor({ flags: values, factory }: ReconcileInvocation): DryRun {
  try {
    return dryRunOf(values["dry-run"], factory.log)
  } catch (err) {
    throw new Error(`error accessing --dry-run flag for command reconcile: ${errorMessage(err)}`, { cause: err })
  }
}

async function untilNoConflict<T>(run: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++)
    try {
      return await run()
    } catch (err) {
      if (!isConflict(err) || tries >= MOST_CONFLICTS) throw err
    }
}

/** Looks at an object again when it appears or goes away meanwhile. */
async function reconcile(
  objects: RbacObjects,
  expected: RbacObject,
  writes: boolean,
  values: ReconcileInvocation["flags"],
): Promise<Reconciliation<RbacObject>> {
  const isBinding = expected.kind!.endsWith("Binding")
  for (let tries = 0; tries < (isBinding ? MOST_BINDING_TRIES : MOST_ROLE_TRIES); tries++) {
    const existing = await objects.find(expected)
    const result =
      existing === undefined
        ? creationOf(expected)
        : isBinding
          ? reconciledBinding(existing, expected, values["remove-extra-subjects"])
          : reconciledRole(existing, expected, values["remove-extra-permissions"])
    if (result.isProtected || !writes || result.operation === "none") return result
    const object = await written(objects, result, existing)
    if (object !== undefined) return { ...result, object }
  }
  throw new Error("exceeded maximum attempts")
}

/** Undefined when the object on the server is not any more what it was. */
async function written(
  objects: RbacObjects,
  { operation, object }: Reconciliation<RbacObject>,
  existing: RbacObject | undefined,
): Promise<RbacObject | undefined> {
  if (operation === "recreate")
    try {
      await objects.delete(existing!)
    } catch (err) {
      if (isConflict(err)) return undefined
      if (!isNotFound(err)) throw err
    }
  try {
    return await (operation === "update" ? objects.update(object) : objects.create(object))
  } catch (err) {
    if (operation === "update" ? isNotFound(err) : isAlreadyExists(err)) return undefined
    throw err
  }
}

async function print(
  { flags: values, out, errOut }: ReconcileInvocation,
  printer: ResourcePrinter,
  result: Reconciliation<RbacObject>,
): Promise<void> {
  await printer.print(await typedForm(result.object), out)
  if (result.operation === "none") return
  const caveat = result.isProtected ? ", but object opted out (rbac.authorization.kubernetes.io/autoupdate: false)" : ""
  await errOut.write(`\treconciliation required ${result.operation}${caveat}\n`)
  const list = async (title: string, texts: readonly string[], isShown = true) => {
    if (texts.length > 0 && isShown) await errOut.write(`\t${title}:\n${texts.map((text) => `\t\t${text}\n`).join("")}`)
  }
  const subjects = (some: typeof result.missingSubjects) =>
    some.map(
      ({ kind = "", apiGroup = "", name = "", namespace = "" }) =>
        `{Kind:${kind} APIGroup:${apiGroup} Name:${name} Namespace:${namespace}}`,
    )
  const rules = (some: typeof result.missingRules) =>
    some.map(
      ({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }) =>
        `{Verbs:${listText(verbs)} APIGroups:${listText(apiGroups)} Resources:${listText(resources)} ResourceNames:${listText(resourceNames)} NonResourceURLs:${listText(nonResourceURLs)}}`,
    )
  await list("missing subjects added", subjects(result.missingSubjects))
  await list("extra subjects removed", subjects(result.extraSubjects), values["remove-extra-subjects"])
  await list("missing rules added", rules(result.missingRules))
  await list("extra rules removed", rules(result.extraRules), values["remove-extra-permissions"])
}
