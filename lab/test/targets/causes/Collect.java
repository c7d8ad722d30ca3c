// Held back by the virtual machine's collector: a live list that grows, and arrays that die at once.
//
//     Collect [SCALE]
import java.util.ArrayList;
import java.util.List;

public final class Collect {
    public static void main(String[] words) {
        double scale = words.length > 0 ? Double.parseDouble(words[0]) : 1;
        List<int[]> living = new ArrayList<>();
        long sum = 0;
        for (int turn = 0; turn < (int) (5_000_000 * scale); turn++) {
            int[] block = new int[64];
            block[turn % 64] = turn;
            sum += block[turn % 64] & 1;
            if (living.size() < 200_000 && turn % 4 == 0) {
                living.add(block);
            }
        }
        System.out.println(sum + " " + living.size());
    }
}
