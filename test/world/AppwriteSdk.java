// Walks through users, teams, documents and files with Appwrite's SDK for Kotlin, which casts each member of a response to its type.
import io.appwrite.Client;
import io.appwrite.ID;
import io.appwrite.Permission;
import io.appwrite.Query;
import io.appwrite.Role;
import io.appwrite.coroutines.CoroutineCallback;
import io.appwrite.enums.IndexType;
import io.appwrite.exceptions.AppwriteException;
import io.appwrite.models.*;
import io.appwrite.services.*;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import kotlin.coroutines.Continuation;
import kotlin.coroutines.intrinsics.IntrinsicsKt;

class AppwriteSdk {
  interface Call<T> {
    Object begin(Continuation<? super T> done) throws Exception;
  }

  @SuppressWarnings("unchecked")
  static <T> T ok(Call<T> call) throws Exception {
    var result = new CompletableFuture<T>();
    var now = call.begin(new CoroutineCallback<T>((value, error) -> {
      if (error == null) result.complete(value);
      else result.completeExceptionally(error);
    }));
    return now == IntrinsicsKt.getCOROUTINE_SUSPENDED() ? result.get() : (T) now;
  }

  static void check(boolean condition, Object... said) {
    if (!condition) throw new AssertionError(Arrays.toString(said));
  }

  static void refused(int status, String kind, Call<Object> call) throws Exception {
    try {
      ok(call);
    } catch (ExecutionException | AppwriteException thrown) {
      var found = (AppwriteException) (thrown instanceof AppwriteException ? thrown : thrown.getCause());
      check(found.getCode() == status && kind.equals(found.getType()), found.getCode(), found.getType(), found.getMessage());
      return;
    }
    throw new AssertionError(kind + " was expected");
  }

  static String endpoint, project;

  static Client client() {
    return new Client(endpoint).setProject(project);
  }

  public static void main(String[] args) throws Exception {
    endpoint = args[0];
    project = args[1];
    var server = client().setKey(System.getenv("WORLD_KEY"));
    var users = new Users(server);
    User<Map<String, Object>> user = ok(c -> users.create("kt-ada", "kt-ada@example.com", null, "tall-bicycle", "Ada", c));
    check(user.getId().equals("kt-ada") && user.getStatus(), user);
    ok(c -> users.updateLabels("kt-ada", List.of("gold"), c));
    ok(c -> users.updatePrefs("kt-ada", Map.of("theme", "dark"), c));
    UserList<Map<String, Object>> found = ok(c -> users.list(List.of(Query.Companion.equal("name", "Ada")), c));
    check(found.getTotal() == 1);
    ok(c -> users.listTargets("kt-ada", c));
    ok(c -> users.createJWT("kt-ada", c));
    refused(409, "user_already_exists", c -> users.create("kt-ada", "x@example.com", c));

    Session session = ok(c -> new Account(server).createEmailPasswordSession("kt-ada@example.com", "tall-bicycle", c));
    var ada = client().setSession(session.getSecret());
    var account = new Account(ada);
    User<Map<String, Object>> me = ok(c -> account.get(c));
    check(me.getEmail().equals("kt-ada@example.com"));
    ok(c -> account.updateName("Ada L", c));
    ok(c -> account.updatePrefs(Map.of(), c));
    SessionList sessions = ok(c -> account.listSessions(c));
    check(sessions.getTotal() >= 1);
    ok(c -> account.listLogs(c));
    refused(401, "user_invalid_credentials", c -> new Account(client()).createEmailPasswordSession("kt-ada@example.com", "wrong-password", c));

    var teams = new Teams(server);
    ok(c -> teams.create("kt-crew", "Crew", List.of("owner"), c));
    Membership membership = ok(c -> teams.createMembership("kt-crew", List.of("owner"), null, "kt-ada", c));
    MembershipList memberships = ok(c -> teams.listMemberships("kt-crew", c));
    check(memberships.getTotal() == 1);
    ok(c -> teams.updatePrefs("kt-crew", Map.of("a", 1), c));
    ok(c -> teams.updateMembership("kt-crew", membership.getId(), List.of("owner", "cook"), c));

    documents(new Databases(server), new Databases(ada));
    files(new Storage(server));

    CountryList countries = ok(c -> new io.appwrite.services.Locale(client()).listCountries(c));
    check(countries.getTotal() > 190);
    ok(c -> users.delete("kt-ada", c));
    refused(401, "general_unauthorized_scope", c -> account.get(c));
    System.out.println("done");
    System.exit(0);
  }

  static void documents(Databases db, Databases own) throws Exception {
    ok(c -> db.create("kt", "Kotlin", c));
    var access = List.of(Permission.Companion.read(Role.Companion.any()), Permission.Companion.create(Role.Companion.users("")));
    ok(c -> db.createCollection("kt", "posts", "Posts", access, true, c));
    ok(c -> db.createStringAttribute("kt", "posts", "title", 100, true, c));
    ok(c -> db.createIntegerAttribute("kt", "posts", "rank", false, 0L, 100L, 0L, c));
    ok(c -> db.createFloatAttribute("kt", "posts", "weight", false, c));
    ok(c -> db.createBooleanAttribute("kt", "posts", "open", false, c));
    ok(c -> db.createDatetimeAttribute("kt", "posts", "at", false, c));
    ok(c -> db.createEnumAttribute("kt", "posts", "kind", List.of("a", "b"), false, c));
    ok(c -> db.createIndex("kt", "posts", "by_rank", IndexType.KEY, List.of("rank"), c));
    ok(c -> db.listAttributes("kt", "posts", c));
    ok(c -> db.getCollection("kt", "posts", c));
    for (var rank = 0; rank < 3; rank++) {
      var data = Map.of("title", "Post " + rank, "rank", rank);
      var name = "p" + rank;
      ok(c -> db.createDocument("kt", "posts", name, data, c));
    }
    ok(c -> db.updateDocument("kt", "posts", "p1", Map.of("at", "2030-01-31T12:00:00.000+00:00"), c));
    var queries = List.of(Query.Companion.greaterThan("rank", 0), Query.Companion.orderDesc("rank"), Query.Companion.limit(1));
    DocumentList<Map<String, Object>> listed = ok(c -> db.listDocuments("kt", "posts", queries, c));
    check(listed.getTotal() == 2 && listed.getDocuments().get(0).getId().equals("p2"), listed);
    Document<Map<String, Object>> one = ok(c -> db.getDocument("kt", "posts", "p1", c));
    check(one.getData().get("title").equals("Post 1"), one.getData());
    Document<Map<String, Object>> mine = ok(c -> own.createDocument("kt", "posts", ID.Companion.unique(7), Map.of("title", "Mine"), c));
    ok(c -> own.deleteDocument("kt", "posts", mine.getId(), c));
    refused(401, "user_unauthorized", c -> own.updateDocument("kt", "posts", "p0", Map.of("title", "Stolen"), c));
    refused(404, "document_not_found", c -> db.getDocument("kt", "posts", "none", c));
  }

  static void files(Storage storage) throws Exception {
    ok(c -> storage.createBucket("kt", "Files", c));
    for (var size : List.of(17, 12_000_000)) {
      var content = new byte[size];
      new Random().nextBytes(content);
      // This version leaves out a byte of each chunk of what is in memory.
      var path = Files.createTempFile("world", ".bin");
      Files.write(path, content);
      var given = InputFile.Companion.fromPath(path.toString());
      // With any other id, this version asks for a large file before it exists and fails for the 404.
      File uploaded = ok(c -> storage.createFile("kt", "unique()", given, c));
      check(uploaded.getSizeOriginal() == size, uploaded);
      byte[] stored = ok(c -> storage.getFileDownload("kt", uploaded.getId(), c));
      check(Arrays.equals(content, stored), "not the same bytes");
      Files.delete(path);
    }
    FileList listed = ok(c -> storage.listFiles("kt", c));
    check(listed.getTotal() == 2);
    ok(c -> storage.deleteBucket("kt", c));
  }
}
