import { expect, test } from "bun:test"
import { EtcdError } from "../../../etcd/connection.ts"
import { commitFailure } from "./failures.ts"

const cases: { title: string; given: unknown; wants: ReturnType<typeof commitFailure>["code"] }[] = [
  {
    title: "a commit over etcd's limit is too large, which is a fault of this commit only",
    given: new EtcdError("InvalidArgument", "etcdserver: request is too large"),
    wants: "oversized",
  },
  {
    title: "a commit over gRPC's limit is too large, and not retried",
    given: new EtcdError("ResourceExhausted", "grpc: received message larger than max (8388700 vs. 2097152)"),
    wants: "oversized",
  },
  {
    title: "a commit to an etcd without space fails as full",
    given: new EtcdError("ResourceExhausted", "etcdserver: mvcc: database space exceeded"),
    wants: "full",
  },
  {
    title: "a commit without permission is refused",
    given: new EtcdError("PermissionDenied", "etcdserver: permission denied"),
    wants: "refused",
  },
  {
    title: "a commit whose lease has expired was not written",
    given: new EtcdError("NotFound", "etcdserver: requested lease not found"),
    wants: "unavailable",
  },
  {
    title: "a commit whose connection broke may have happened",
    given: new EtcdError("Unavailable", "read ECONNRESET"),
    wants: "unknown",
  },
  {
    title: "a commit that failed in this program may have happened",
    given: new TypeError("header is undefined"),
    wants: "unknown",
  },
]
test.each(cases)("$title", ({ given, wants }) => expect(commitFailure(given).code).toBe(wants))
