import { finding, mend } from "../answer.ts"
import { doctor, healthy, unwell } from "../doctor.ts"
import { SIGNING_REQUESTS } from "../reading/kinds.ts"
import { command } from "../command.ts"

export const signingRequestDoctor = doctor(SIGNING_REQUESTS, ({ metadata, spec, status }) => {
  const { name = "" } = metadata
  const is = (type: string) => status.conditions?.find((one) => one.type === type && one.status === "True")
  const denied = is("Denied")
  const failed = is("Failed")
  if (denied !== undefined)
    return Promise.resolve(
      unwell("is denied", [finding("request-denied", `it was denied: ${denied.message ?? denied.reason ?? ""}`)]),
    )
  if (failed !== undefined)
    return Promise.resolve(
      unwell("has failed", [finding("request-failed", `${spec.signerName} refused it: ${failed.message ?? ""}`)]),
    )
  if (is("Approved") === undefined)
    return Promise.resolve(
      unwell("is not approved", [
        finding("request-pending", `nobody has approved it yet, so ${spec.signerName} does not sign it`, {
          mends: [
            mend(
              command`kubectl certificate approve ${name}`,
              `approves the request of ${spec.username ?? "its sender"}`,
            ),
          ],
        }),
      ]),
    )
  return Promise.resolve(
    status.certificate !== undefined && status.certificate !== ""
      ? healthy("is signed")
      : unwell("is not signed", [
          finding(
            "signer-silent",
            `it is approved, and the signer ${spec.signerName} has not signed it; perhaps it does not run`,
            {
              sure: false,
            },
          ),
        ]),
  )
})
